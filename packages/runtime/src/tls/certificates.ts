// SPDX-License-Identifier: Apache-2.0
/**
 * Certificate and key from two files that change while the program runs. A mounted Secret is replaced by renaming a link in its folder, an
 * editor may write in place: so the folders are watched, and the files are looked at every minute as well, for file systems that
 * report nothing.
 *
 * A pair that cannot be used is logged, and the one before it stays.
 */
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../clock/clock.ts';
import { growingPace, type GrowingPace } from '../clock/growing-pace.ts';
import type { Logger } from '../log/logger.ts';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Rejects when a file cannot be read or is empty, or when certificate and key do not belong together. */
export async function readPair({ certFile, keyFile }: CertificateFiles): Promise<Pair> {
  // One after the other, so that of two missing files always the same one is named.
  const cert = await readFile(certFile, 'utf8');
  const key = await readFile(keyFile, 'utf8');
  // An empty text counts as none there, and a server without a certificate refuses every client.
  if (cert === '' || key === '') throw new Error(`${cert === '' ? certFile : keyFile} is empty`);
  createSecureContext({ cert, key });
  return { cert, key };
}

export interface WatchPairDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Files are replaced one after the other: what is between them is not read. */
const settleMs = 50;
const pollMs = 60_000;

/** Calls `use` with each new pair until the signal aborts. Never rejects. */
export async function watchPair(
  { clock, log }: WatchPairDeps,
  files: CertificateFiles & { readonly current: Pair },
  { use, signal }: { readonly use: (pair: Pair) => void; readonly signal: AbortSignal },
): Promise<void> {
  let { current } = files;
  let broken: { readonly text: string; readonly pace: GrowingPace } | undefined;
  let changed = Promise.withResolvers<void>();
  for (const folder of new Set([dirname(files.certFile), dirname(files.keyFile)])) {
    try {
      const watcher = watch(folder, { signal }, () => changed.resolve());
      watcher.on('error', (error) => log.error(error, 'certificate watch error', { folder }));
    } catch (error) {
      log.error(error, 'certificate watch error', { folder });
    }
  }
  while (!signal.aborted) {
    await Promise.race([changed.promise, clock.sleep(pollMs, signal).catch(() => undefined)]);
    await clock.sleep(settleMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    changed = Promise.withResolvers();
    try {
      const pair = await readPair(files);
      if (pair.cert === current.cert && pair.key === current.key) {
        broken = undefined;
        continue;
      }
      use(pair);
      current = pair;
      broken = undefined;
      log.info(0, 'Updated current TLS certificate');
    } catch (error) {
      const text = String(error);
      const isNews = text !== broken?.text;
      broken = { text, pace: broken?.pace ?? growingPace(clock, { firstMs: 2 * pollMs }) };
      if (!broken.pace.isDue() && !isNews) continue;
      const { certFile, keyFile } = files;
      const facts = { certFile, keyFile, forSeconds: broken.pace.forSeconds(), inUse: 'the pair before it' };
      log.error(error, 'error re-reading certificate', facts);
    }
  }
}
