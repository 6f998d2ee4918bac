// SPDX-License-Identifier: Apache-2.0
/** The files of a Go module that a family under `e2e/tools/` requires, for what lies beside its code. */
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
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
  return await download(module, join(toolsFolder, family));
}

/** The same for any release; `module` is without its major version, which the release says. */
export async function downloadRelease(module: string, release: string): Promise<string> {
  const major = Number(/^v(\d+)\./.exec(release)?.[1] ?? 0);
  // In a folder without a go.mod, a version may be asked for that nothing requires.
  return await download(`${module}${major > 1 ? `/v${major}` : ''}@${release}`, tmpdir());
}

async function download(query: string, cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', query], { cwd }).catch(
    (error: Error & { readonly stdout?: string }): never => {
      // Not as its cause: a download error names the module proxy.
      throw new Error(`cannot download ${query}: ${withoutAddresses(reasonIn(error.stdout) ?? error.message)}`);
    },
  );
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
}

/** With `-json`, go writes what went wrong to its standard output. */
function reasonIn(stdout = ''): string | undefined {
  return /"Error": (".*")/.exec(stdout)?.[1];
}
