// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { parseOptions, reportName, select, usualConcurrency } from './options.ts';

it('given nothing, then everything runs on the first control plane with upstream rights and our programs', () => {
  expect(parseOptions([], {})).toEqual({
    controlPlane: 'sim',
    kubernetes: 'current',
    only: undefined,
    rbac: 'stock',
    programs: 'ours',
    concurrency: usualConcurrency('sim'),
    require: [],
    seed: undefined,
    load: 'tenth',
    list: false,
    systemChanges: 'refused',
  });
});

it('given UPSTREAM_BIN, then the programs of upstream run, unless ours are selected', () => {
  const env = { UPSTREAM_BIN: '/somewhere' };
  expect(parseOptions(['--control-plane=local'], env).programs).toBe('upstream');
  expect(parseOptions(['--programs=ours'], env).programs).toBe('ours');
});

it.each([
  [['--control-plane=moon'], 'not one of'],
  [['--rbac=all'], 'not one of stock, minimal'],
  [['--concurrency=0'], 'not a count'],
  [['--seed=dice'], 'not a whole number'],
  [['--no-such-thing'], '--no-such-thing'],
  [['--control-plane=sim', '--programs=upstream'], 'protobuf'],
  [['--kubernetes=ancient'], 'not one of current, previous, oldest'],
  [['--control-plane=node', '--kubernetes=oldest'], 'is for --control-plane=local'],
])('given %j, then it is refused', (args, text) => {
  expect(() => parseOptions(args, {})).toThrow(text);
});

it('given a selection, then ids and prefixes select scenarios, and one that selects nothing is an error', () => {
  const all = [{ id: 'P-01' }, { id: 'P-02' }, { id: 'H-01' }];
  const ids = (only: string[] | undefined): string[] => select(all, only).map(({ id }) => id);
  expect(ids(undefined)).toEqual(['P-01', 'P-02', 'H-01']);
  expect(ids(['P-'])).toEqual(['P-01', 'P-02']);
  expect(ids(['H-01', 'P-02'])).toEqual(['P-02', 'H-01']);
  expect(() => ids(['X-99'])).toThrow('no such scenario');
});

it('given a seed as a flag or in the environment, then the flag is used', () => {
  expect(parseOptions([], { E2E_SEED: '7' }).seed).toBe(7);
  expect(parseOptions(['--seed=8'], { E2E_SEED: '7' }).seed).toBe(8);
});

it('given minimal rights, then the report has a name of its own', () => {
  expect(reportName({ controlPlane: 'local', kubernetes: 'current', rbac: 'stock' })).toBe('e2e-local');
  expect(reportName({ controlPlane: 'local', kubernetes: 'oldest', rbac: 'minimal' })).toBe('e2e-local-oldest-minimal');
});

it('given --full, then scenarios that count in hundreds do so', () => {
  expect(parseOptions(['--full'], {}).load).toBe('full');
});

it('given a control plane and cores, then three scenarios run for each core, at most twelve, and three where a kubelet runs', () => {
  expect([1, 2, 8].map((cores) => usualConcurrency('local', cores))).toEqual([3, 6, 12]);
  expect([usualConcurrency('node', 8), usualConcurrency('kind', 2)]).toEqual([3, 3]);
});
