// SPDX-License-Identifier: Apache-2.0
/** The Dockerfile has no test of its own here, because there is no container engine: it is read, and compared with the released images. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { heapLimit, searchPath } from './build.ts';
import { repositoryRoot } from './repository.ts';
import { imageSet } from './set.ts';
import { readPins } from './sources/pins.ts';

interface Stage {
  readonly from: string;
  readonly name: string;
  readonly lines: readonly string[];
}

const text = readFileSync(join(repositoryRoot, 'images/Dockerfile'), 'utf8');
const stages: readonly Stage[] = text
  .split(/^FROM /m)
  .slice(1)
  .map((part) => {
    const [head = '', ...lines] = part.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const [from = '', name = ''] = head.replace(/^--platform=\S+ /, '').split(' AS ');
    return { from, name, lines };
  });
const stage = (name: string): Stage => stages.find((each) => each.name === name)!;
/** `/out/<layer>/` copied to the root, in order. */
const layersOf = ({ lines }: Stage): readonly string[] =>
  lines.flatMap((line) => /^COPY --from=build \/out\/([\w-]+)\/ \/$/.exec(line)?.[1] ?? []);

it('given the set of images, then there is one target for each, above the same runtime', () => {
  const targets = stages.filter(({ from }) => from === 'runtime');
  expect(targets.map(({ name }) => name)).toEqual(imageSet.map(({ name }) => name));
});

it.each(imageSet)(
  'given the target $name, then it has the files of the released image and its entrypoint, and nothing else',
  (spec) => {
    const target = stage(spec.name);
    expect(layersOf(target)).toEqual(spec.programs);
    expect(target.lines.filter((line) => !line.startsWith('COPY '))).toEqual([`ENTRYPOINT ["${spec.entrypoint}"]`]);
  },
);

it('given the runtime, then it has the files and the environment of the released images, and no user', () => {
  const runtime = stage('runtime');
  expect(runtime.from).toBe('scratch');
  expect(layersOf(runtime)).toEqual(['runtime']);
  expect(runtime.lines.flatMap((line) => /^ENV (.*)$/.exec(line)?.[1] ?? [])).toEqual([searchPath, heapLimit]);
  expect(text).not.toMatch(/^(?:USER|CMD|ADD) /m);
});

it('given the pins, then the build stage has the same Node.js and the same Debian', () => {
  const { node, debian } = readPins();
  expect(text).toContain(`ARG NODE_VERSION=${node.version}\n`);
  expect(stage('build').from).toBe(`node:\${NODE_VERSION}-${debian.release}`);
});
