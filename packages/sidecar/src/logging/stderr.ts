// SPDX-License-Identifier: Apache-2.0
/** The real sink: file descriptor 2 through the thread pool. */
import { write } from 'node:fs';
import type { Sink } from './line-writer.ts';

export function stderrSink(): Sink {
  return { write: (chunk, done) => write(2, chunk, done) };
}
