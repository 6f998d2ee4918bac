// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- memory-limits [--only=node,controllers,variants] [--rounds=3] [--limits=64,32] [--programs=csi-resizer]`: containers of
 * the released images, started by runc in memory limits, and how long they take until they are healthy. Cold: no page of the image is in
 * memory, so that reading Node.js is charged to the container; warm: another container has read it. Prints tables for
 * docs/operations/sizing.md.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildImages, factsOf, gzip, readPins, remembered, layoutOf } from '@csi-sidecars/images';
import { inspect, unpack, type Unpacked } from '@csi-sidecars/images/testing';
import { measureControllers } from './controllers.ts';
import { measureNodePrograms } from './node-programs.ts';
import { measureVariants } from './variants.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'node,controllers,variants' },
    rounds: { type: 'string', default: '3' },
    limits: { type: 'string', default: '' },
    foreign: { type: 'string', default: '1000,10000' },
    programs: { type: 'string', default: '' },
  },
});
const numbers = (text: string): readonly number[] => text.split(',').filter(Boolean).map(Number);
const folder = mkdtempSync(join(tmpdir(), 'csi-memory-'));
const images = new Map<string, Unpacked>();
try {
  const { images: built } = await buildImages({
    facts: factsOf(process.env),
    platforms: [process.arch === 'arm64' ? 'linux/arm64' : 'linux/amd64'],
    debian: { env: process.env, pins: readPins(), pinned: 'preferred', report: console.error },
    compression: remembered(gzip, process.env),
  });
  for (const each of inspect(layoutOf(built))) images.set(each.name, unpack(each));
  const options = { folder, images, rounds: Number(values.rounds), limits: numbers(values.limits) };
  const parts = values.only.split(',');
  if (parts.includes('node')) console.log(await measureNodePrograms(options));
  if (parts.includes('controllers'))
    console.log(
      await measureControllers({
        ...options,
        foreign: numbers(values.foreign),
        programs: values.programs.split(',').filter(Boolean),
      }),
    );
  if (parts.includes('variants')) console.log(await measureVariants(options));
} finally {
  for (const each of images.values()) each[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
}
