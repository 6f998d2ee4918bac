// SPDX-License-Identifier: Apache-2.0
/** A program of a consumer as one file, made by esbuild from the installed package. */
import { join } from 'node:path';
import { build } from 'esbuild';

export interface Bundle {
  readonly path: string;
  readonly bytes: number;
  /** Those that have left something in the bundle, with their paths in the folder of the consumer. */
  readonly modules: readonly string[];
}

export interface BundleOptions {
  readonly folder: string;
  /** A file in it. */
  readonly entry: string;
  /** Packages that are loaded when the program runs. */
  readonly external?: readonly string[];
}

/** Rejects if esbuild has an error or a warning. */
export async function bundle({ folder, entry, external = [] }: BundleOptions): Promise<Bundle> {
  const outfile = join(folder, entry.replace(/ts$/, 'bundle.mjs'));
  const { metafile, warnings } = await build({
    absWorkingDir: folder,
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    external: [...external],
    metafile: true,
    logLevel: 'silent',
  });
  if (warnings.length > 0) throw new Error(warnings.map(({ text }) => text).join('\n'));
  const [output] = Object.values(metafile.outputs);
  const inputs = Object.entries(output?.inputs ?? {});
  return {
    path: outfile,
    bytes: output?.bytes ?? 0,
    modules: inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path),
  };
}
