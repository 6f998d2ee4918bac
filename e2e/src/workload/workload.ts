// SPDX-License-Identifier: Apache-2.0
/** The workload of a container on a volume: write unique data, make it durable, and check it later. */
import { createHash, randomBytes } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const mib = 1024 ** 2;

export interface Written {
  readonly file: string;
  readonly sha256: string;
}

/** Returns when file and folder have reached the storage. */
export async function writeData(folder: string, file: string, mebibytes: number): Promise<Written> {
  const hash = createHash('sha256');
  const handle = await open(join(folder, file), 'wx');
  try {
    for (let index = 0; index < mebibytes; index += 1) {
      const chunk = randomBytes(mib);
      hash.update(chunk);
      await handle.writeFile(chunk);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  await syncFolder(folder);
  return { file, sha256: hash.digest('hex') };
}

export async function checksumOf(folder: string, file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(join(folder, file)))
    .digest('hex');
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
