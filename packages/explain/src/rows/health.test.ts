// SPDX-License-Identifier: Apache-2.0
/** What a claim shows of the health of its volume is a risk beside every row. */
import { describe, expect, it } from 'vitest';
import {
  boundClaim,
  clusterOf,
  csiDriver,
  csiNode,
  explain,
  namespace,
  node,
  podWith,
  run,
  storageClass,
  volumeOf,
} from '../../testing/cluster.ts';
import type { Verdict } from '../verdict.ts';
import { withHealth } from './health.ts';

const condition = (status: string, reason: string, message?: string) => ({
  status,
  reason,
  ...(message !== undefined && { message }),
});
const withConditions = (...healthConditions: readonly object[]) =>
  boundClaim('data', { status: { healthStatus: { healthConditions } } });
const clusterWith = (claim: object) => clusterOf([storageClass('gp'), csiDriver(), volumeOf('data'), claim]);
const ofData = ['pvc/data', '-n', namespace];
const degraded = condition('Degraded', 'Rebuild');
const down = condition('Inaccessible', 'PoolDown', 'pool p1 is offline');
const lost = condition('DataLoss', 'DiskGone');

describe('a claim that shows health', () => {
  it.each([
    { given: 'one condition', conditions: [degraded], level: 'possible', sentence: 'Degraded (Rebuild)' },
    {
      given: 'two conditions',
      conditions: [degraded, down],
      level: 'possible',
      sentence: 'Inaccessible (PoolDown: pool p1 is offline; and 1 more)',
    },
    {
      given: 'lost data',
      conditions: [degraded, down, lost],
      level: 'certain',
      sentence: 'DataLoss (DiskGone; and 2 more)',
    },
  ])('given $given, when explained, then the worst is the risk: $level', async ({ conditions, level, sentence }) => {
    const { document, code } = await explain(clusterWith(withConditions(...conditions)), ofData);
    expect(document.risk).toEqual({
      level,
      of: 'loss',
      ifYou: null,
      sentence: `the driver reports the volume as ${sentence}`,
    });
    // Nothing is awaited all the same.
    expect([document.row, code, document.findings]).toEqual(['X40', 0, ['health-2']]);
    expect(document.changes.map(({ what }) => what)).toEqual(['what the driver names, in the storage system']);
  });

  it.each([
    ['no health', boundClaim('data')],
    ['no conditions', withConditions()],
  ])('given %s, when explained, then there is no risk', async (_, claim) => {
    const { document } = await explain(clusterWith(claim), ofData);
    expect([document.risk.level, document.findings]).toEqual(['none', []]);
  });

  it('given the claim of a pod that runs, when the pod is explained, then its volume is at risk, which is said once', async () => {
    const host = clusterWith(withConditions(down));
    for (const object of [
      csiNode('node-a'),
      node('node-a'),
      podWith('data', 'writer', { spec: { nodeName: 'node-a' }, status: { phase: 'Running' } }),
    ])
      host.server.objects.seed(object);
    await run(host, ['pod/writer', '-n', namespace]);
    const screen = host.printed().replaceAll(/\s+/g, ' ');
    expect(screen.split('pool p1 is offline')).toHaveLength(2);
    expect(screen).toContain(' Risk the driver reports the volume as Inaccessible');
  });
});

it('given a verdict with a risk of its own, when the claim shows health too, then both are said, and the worse counts', () => {
  const risk = { level: 'certain', of: 'leak', ifYou: 'delete', sentence: 'volume v is left' } as const;
  const verdict: Verdict = { row: 'X41', exit: 0, actor: 'nobody', stage: undefined, sentence: 'x', risk };
  expect(withHealth(withConditions(degraded), verdict).risk).toEqual({
    level: 'certain',
    of: 'leak',
    ifYou: 'delete',
    sentence: 'volume v is left; the driver reports the volume as Degraded (Rebuild)',
  });
});
