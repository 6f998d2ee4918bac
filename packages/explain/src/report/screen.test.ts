// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { Explanation, RetryJson } from './explanation.ts';
import { ageText, rowOf, screenOf } from './screen.ts';

const at = '2026-01-01T00:00:00Z';
const later = (seconds: number): string => new Date(Date.parse(at) + seconds * 1_000).toISOString();

function anExplanation(changes: Partial<Explanation> = {}): Explanation {
  return {
    apiVersion: 'csi-sidecars/v1',
    kind: 'Explanation',
    at,
    clock: { localOffsetSeconds: 0 },
    subject: { kind: 'Pod', apiVersion: 'v1', namespace: 'n', name: 'p', uid: null, deletionTimestamp: null },
    verdict: 'waiting',
    exitCode: 3,
    row: 'X57',
    sentence: 'kubelet mounts the volume',
    driver: null,
    stages: [],
    turn: null,
    error: null,
    retry: null,
    changes: [],
    risk: { level: 'none', of: null, ifYou: null, sentence: 'none' },
    decision: null,
    next: null,
    findings: [],
    related: [],
    volumes: null,
    nodeMetrics: null,
    missing: [],
    cost: { requests: 0, bytes: 0, seconds: 0 },
    ...changes,
  };
}

const shown = (changes: Partial<Explanation>, columns = 80): readonly string[] =>
  screenOf(anExplanation(changes), { columns, nowMs: Date.parse(at), isColoured: false })
    .trimEnd()
    .split('\n');
const labelled = (label: string, changes: Partial<Explanation>): readonly string[] =>
  shown(changes).filter((line) => line.startsWith(label));

it.each([
  [-5_000, '0s'],
  [119_400, '119s'],
  [119_500, '2m'],
  [7_199_000, '119m'],
  [7_200_000, '2h'],
  [47 * 3_600_000 + 3_599_000, '47h'],
  [48 * 3_600_000, '2d'],
])('given %i ms, when shown as an age, then it is %s', (ms, text) => {
  expect(ageText(ms)).toBe(text);
});

const retry: RetryJson = { will: 'yes', earliest: null, latest: null, exact: false, because: null };
it.each<readonly [retry: RetryJson, text: string]>([
  [retry, 'yes, by itself'],
  [{ ...retry, latest: later(60), because: 'after its backoff' }, 'yes, by itself within 60s: after its backoff'],
  [{ ...retry, latest: later(-60) }, 'yes, by itself, expected 60s ago'],
  [{ ...retry, latest: at }, 'yes, by itself, expected 0s ago'],
  [{ ...retry, will: 'onChange', because: 'when it is there' }, 'when it is there'],
  [{ ...retry, will: 'onChange' }, 'when something changes'],
  [{ ...retry, will: 'no', because: 'it is final' }, 'no: it is final'],
  [{ ...retry, will: 'no' }, 'no'],
  [{ ...retry, will: 'unknown', because: 'no events' }, 'not known: no events'],
])('given the retry %j, when shown, then it reads: %s', (each, text) => {
  expect(labelled('Retry', { retry: each })).toEqual([`Retry   ${text}`]);
});

const turn = {
  actor: 'kubelet',
  role: null,
  name: null,
  node: null,
  namespace: null,
  pod: null,
  alive: 'yes',
  aliveBecause: null,
  since: later(-90),
  sinceIsAtLeast: false,
} as const;
it.each<readonly [turn: NonNullable<Explanation['turn']>, text: string]>([
  [turn, 'kubelet, since 90s'],
  [{ ...turn, alive: 'no', role: 'then driver' }, 'kubelet (does not work) (then driver), since 90s'],
  [{ ...turn, sinceIsAtLeast: true }, 'kubelet, since at least 90s'],
  [{ ...turn, since: 'unknown' }, 'kubelet, since a time that is not known'],
])('given the turn %j, when shown, then it reads: %s', (each, text) => {
  expect(labelled('Turn', { turn: each })).toEqual([`Turn    ${text}`]);
});

const object = { kind: 'Pod', namespace: 'n', name: 'p', uid: null };
const error = {
  text: 'no pool',
  truncated: false,
  code: null,
  codeName: null,
  at: later(-14),
  atBy: null,
  count: 1,
  reason: null,
  source: null,
  object,
  sanitized: false,
};
it.each<readonly [error: NonNullable<Explanation['error']>, text: string]>([
  [error, '14s ago: "no pool"'],
  [{ ...error, count: 2, code: 3, codeName: 'InvalidArgument' }, '14s ago, 2 times, InvalidArgument: "no pool"'],
])('given the error %j, when shown, then it reads: %s', (each, text) => {
  expect(labelled('Error', { error: each })).toEqual([`Error   ${text}`]);
});

it('given changes, when shown, then they are those of a verdict that needs a person, with their objects and fields', () => {
  const changes = [
    { what: 'set it', object, field: 'spec.x' },
    { what: 'tag it', object: { ...object, kind: 'Node', namespace: null }, field: null },
    { what: 'look', object: null, field: null },
  ];
  expect(labelled('Change', { verdict: 'person', changes })).toEqual([
    'Change  set it (Pod n/p, spec.x)',
    'Change  tag it (Node p)',
    'Change  look',
  ]);
  expect(labelled('Change', { changes })).toEqual([]);
});

it('given four readings that are missing, when shown, then three of them are named', () => {
  const missing = ['a', 'b', 'c', 'd'].map((resource) => ({
    verb: 'get' as const,
    group: '',
    resource,
    namespace: null,
    because: 'forbidden' as const,
    notKnown: `who ${resource} is`,
  }));
  expect(labelled('Missing', { missing })).toEqual([
    'Missing get a (forbidden): who a is is not known',
    'Missing get b (forbidden): who b is is not known',
    'Missing get c (forbidden): who c is is not known',
    'Missing and 1 more: -o json',
  ]);
  expect(labelled('Missing', { missing: missing.slice(1) })).toHaveLength(3);
});

it.each([
  [5, []],
  [5.5, ['Clock   the clock of this machine is 6s ahead of that of the API server, by']],
  [-120, ['Clock   the clock of this machine is 2m behind that of the API server, by which']],
])(
  'given a clock that is %d s ahead, when shown, then a difference of more than five seconds is a line',
  (localOffsetSeconds, lines) => {
    expect(labelled('Clock', { clock: { localOffsetSeconds } })).toEqual(lines);
  },
);

it('given a pod with several volumes, when shown, then the others have a line', () => {
  const {
    at: _,
    clock: _clock,
    volumes: _volumes,
    nodeMetrics: _metrics,
    missing: _missing,
    cost: _cost,
    ...part
  } = anExplanation();
  const others = ['first', 'second', 'third'].map((name) => ({ ...part, subject: { ...part.subject, name } }));
  expect(labelled('Others', { volumes: others })).toEqual(['Others  second: waiting (X57), third: waiting (X57)']);
  expect(labelled('Others', { volumes: others.slice(0, 1) })).toEqual([]);
});

const stage = (id: 'class' | 'source' | 'provision' | 'bind', state: Explanation['stages'][number]['state']) =>
  ({ id, state, since: null, object: null, actor: null, detail: null }) as const;
const waits = [
  { ...stage('class', 'done'), detail: 'gp' },
  stage('source', 'skip'),
  { ...stage('provision', 'now'), actor: 'driver' as const },
  stage('bind', 'next'),
];
it.each<readonly [given: string, changes: Partial<Explanation>, lines: readonly string[]]>([
  [
    'a claim that waits',
    { stages: waits },
    ['  done  class gp', '  NOW   provision: kubelet mounts the volume', '  next  bind'],
  ],
  [
    'a claim of which the stage is not known',
    { stages: [stage('class', 'done'), stage('provision', 'unknown'), stage('bind', 'unknown')], verdict: 'unknown' },
    ['  done  class', '  NOW   kubelet mounts the volume', '  ?     provision, bind'],
  ],
  [
    'a claim that is done',
    { stages: [stage('class', 'done'), stage('bind', 'done')], verdict: 'done' },
    ['  done  class, bind', '        kubelet mounts the volume (X57)'],
  ],
  [
    'a claim that is absent',
    { stages: [stage('class', 'unknown')], verdict: 'absent' },
    ['        kubelet mounts the volume (X57)'],
  ],
])('given %s, when shown, then its stages have a line for each state', (_, changes, lines) => {
  expect(shown(changes).filter((line) => line.startsWith('  '))).toEqual(lines);
});

it('given a decision and findings, when shown, then they stand beside the row; nothing of them once nothing is awaited', () => {
  const decision = {
    program: 'csi-provisioner',
    page: 'provisioner',
    row: 'C24',
    sentence: 'would try again',
    action: 'none',
    origin: 'computed',
    assumed: [],
    onlyOurs: false,
  } as const;
  const changes = { decision, findings: ['lease-1', 'pod-2'] };
  expect(labelled('Row', changes)).toEqual([
    'Row     X57; C24 of csi-provisioner (computed): would try again; see doctor:',
  ]);
  expect(labelled('Row', { ...changes, verdict: 'done' })).toEqual([]);
});

it('given texts of many lines and words without an end, when shown, then there are 24 lines of the width, and the command is the last', () => {
  const long = { ...object, what: 'x'.repeat(250), object: null, field: null };
  const command = ['kubectl', 'get', 'pod', 'p', '-o', 'yaml', '--namespace', 'n'.repeat(80)];
  const lines = shown({
    verdict: 'person',
    changes: Array.from({ length: 20 }, () => long),
    next: { command, sentence: '' },
  });
  expect(lines).toHaveLength(24);
  expect(lines.slice(0, 23).filter((line) => line.length > 80)).toEqual([]);
  expect(lines[4]).toBe(`        ${'x'.repeat(72)}`);
  expect(lines.at(-1)).toBe(`Next    ${command.join(' ')}`);
});

it.each([
  [40, 80],
  [100, 100],
  [300, 120],
])('given a terminal of %i columns, when shown, then the first line ends at column %i', (columns, width) => {
  const [head = ''] = shown({}, columns);
  expect([head.length, head.endsWith('driver unknown'), head.startsWith('Pod n/p ')]).toEqual([width, true, true]);
});

it('given -o row, when printed, then it is the row, the exit code, the actor and the sentence', () => {
  expect(rowOf(anExplanation())).toBe('X57 3 nobody kubelet mounts the volume\n');
  expect(rowOf(anExplanation({ turn }))).toBe('X57 3 kubelet kubelet mounts the volume\n');
});
