// SPDX-License-Identifier: Apache-2.0
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { leftoversRules } from '@csi-sidecars/provisioner';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../processes/program.ts';
import { parsePage, readPage } from './read-page.ts';

const page = (...lines: readonly string[]) => parsePage(lines.join('\n'));
const command = { kind: 'command', section: '', answer: undefined, notTested: undefined };

describe('the commands of a page', () => {
  it('given blocks under headings and in lists, then each command stands under its heading, and lines that go on are joined', () => {
    expect(
      page(
        '## One',
        '```sh',
        '# only a remark',
        'a --b \\',
        '  --c # why',
        '',
        'd',
        '```',
        '## Two',
        '1. x',
        '   ```sh',
        '   e',
        '   ```',
      ),
    ).toEqual([
      { ...command, section: 'One', text: 'a --b --c # why' },
      { ...command, section: 'One', text: 'd' },
      { ...command, section: 'Two', text: 'e' },
    ]);
  });

  it('given a file, an answer and reasons, then each command has its own', () => {
    expect(
      page(
        '```yaml file="values.yaml"',
        'a: {}',
        '```',
        '```sh answer="yes" not-tested="b c: no docker; d: no time"',
        'a',
        'b c --now',
        'd',
        '```',
      ),
    ).toEqual([
      { kind: 'file', section: '', name: 'values.yaml', content: 'a: {}\n' },
      { ...command, text: 'a', answer: 'yes' },
      { ...command, text: 'b c --now', answer: 'yes', notTested: 'no docker' },
      { ...command, text: 'd', answer: 'yes', notTested: 'no time' },
    ]);
    expect(page('```sh not-tested="no docker"', 'a', 'b', '```')).toEqual([
      { ...command, text: 'a', notTested: 'no docker' },
      { ...command, text: 'b', notTested: 'no docker' },
    ]);
  });

  it.each([
    [['```', 'a', '```'], 'neither commands'],
    [['```yaml', 'a', '```'], 'neither commands'],
    [['```sh', 'a'], 'has no end'],
    [['```sh not-run="x"y', 'a', '```'], 'not understood'],
    [['```sh not-tested=""', 'a', '```'], 'without a reason'],
    [['```sh not-tested="b: no docker"', 'a', '```'], 'not-tested names no command: b'],
    [['    kubectl get pods'], 'between fences'],
    [['Type `kubectl get pod -A`.'], 'into a block, so that it is run: kubectl get pod -A'],
    [['Type `kubectl get pod my-pod`.'], 'into a block'],
  ])('given %j, which a test could overlook, then it is refused: %s', (lines, message) => {
    expect(() => page(...lines)).toThrow(message);
  });

  it('given a command in prose that is only named, or that a block of the page begins with, then it is accepted', () => {
    expect(
      page('`helm upgrade`, `kubectl edit pvc`, `a -b`, `kubectl get pod -A`', '```sh', 'kubectl get pod -A -w', '```'),
    ).toHaveLength(1);
  });
});

const operatorsPages = globSync(['README.md', 'docs/operations/*.md'], { cwd: repositoryRoot });
const textOf = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');

it.each(operatorsPages)(
  '[packaging#66] given %s, then each of its commands can be run by a test or says why not, and its npm scripts exist',
  (path) => {
    readPage(path);
    const { scripts } = JSON.parse(textOf('package.json')) as { readonly scripts: object };
    const named = [...textOf(path).matchAll(/\bnpm run ([\w-]+)/g)];
    expect(named.map(([, name = '']) => name).filter((name) => !(name in scripts))).toEqual([]);
  },
);

type Values = Readonly<Record<string, unknown>>;

/** A star stands for any key. */
function isThere(values: unknown, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined) return true;
  if (typeof values !== 'object' || values === null) return false;
  if (key === '*') return Object.values(values).some((value) => isThere(value, rest));
  return key in values && isThere((values as Values)[key], rest);
}

it('[packaging#66] given a value that a page for operators names, then a chart has it', () => {
  const charts = ['csi-driver', 'snapshot-controller'].map(
    (name) => load(textOf(`charts/${name}/values.yaml`)) as Values,
  );
  const named = operatorsPages.flatMap((path) =>
    [...textOf(path).matchAll(/`([a-zA-Z]+(?:\.[\w*]+)+)(?:=\S*|: [^`]*)?`/g)].map(([, value = '']) => value),
  );
  const values = named.filter((value) => charts.some((chart) => value.slice(0, value.indexOf('.')) in chart));
  expect(values.length).toBeGreaterThan(40);
  expect(values.filter((value) => !charts.some((chart) => isThere(chart, value.split('.'))))).toEqual([]);
});

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const granted = (rules: readonly Rule[]): ReadonlySet<string> =>
  new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((each) => verbs.map((verb) => `${verb} ${group}/${each}`))),
    ),
  );

it('[packaging#66] given the role for leftovers that the page shows, then it grants what the program uses', () => {
  const file = readPage('docs/operations/leaving-csi-provisioner.md').find((step) => step.kind === 'file');
  const { rules } = load(file?.content ?? '') as { readonly rules: readonly Rule[] };
  expect(granted(rules)).toEqual(granted(leftoversRules));
});
