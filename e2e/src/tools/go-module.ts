// SPDX-License-Identifier: Apache-2.0
/** The files of a Go module that a family under `e2e/tools/` requires, for what lies beside its code. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { toolsFolder } from './catalogue.ts';
import { withoutAddresses } from './ensure-tools.ts';

export interface RequiredModule {
  /** The folder of the go.mod that pins it. */
  readonly family: string;
  readonly module: string;
}

/** Downloads the module if it is not there. Resolves with its folder, which is read-only. */
export async function downloadModule({ family, module }: RequiredModule): Promise<string> {
  const options = { cwd: join(toolsFolder, family) };
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], options).catch(
    (error: unknown): never => {
      // Not as its cause: a download error names the module proxy.
      const reason = withoutAddresses(error instanceof Error ? error.message : String(error));
      throw new Error(`cannot download ${module}: ${reason}`);
    },
  );
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
}
