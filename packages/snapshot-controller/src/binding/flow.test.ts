// SPDX-License-Identifier: Apache-2.0
import { walkFlow } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import {
  aClass,
  aContent,
  aGroup,
  aGroupClass,
  aGroupContent,
  aSnapshot,
  someSettings,
} from '../../testing/builders.ts';
import { handle as handleGroup } from '../group-snapshot/flow.ts';
import { groupKind } from '../group-snapshot/kind.ts';
import { handle as handleSnapshot } from '../snapshot/flow.ts';
import { snapshotKind } from '../snapshot/kind.ts';
import { nothing } from '../snapshot/observe.ts';
import { cutContent } from './flow.ts';

const rest = { content: undefined, classes: [], isConfirmed: true, again: () => expect.unreachable('it is there') };
const error = (message: string) => ({ error: { message, time: '2026-01-01T00:00:00Z' } });

it.each([
  { given: 'no status', status: {}, then: 'it was not cut' },
  { given: 'a time', status: { creationTime: '2026-01-01T00:00:00Z' }, then: 'the API server is asked' },
  { given: 'a size', status: { restoreSize: '1Gi' }, then: 'the API server is asked' },
  { given: 'readiness', status: { readyToUse: true }, then: 'the API server is asked' },
  { given: 'the error of a missing content', status: 'missing' as const, then: 'the API server is asked' },
  { given: 'another error', status: { readyToUse: false, ...error('other') }, then: 'it was not cut' },
])('given a snapshot or a group without a content and with $given, then $then', async ({ status, then }) => {
  const statusOf = (missing: string) => (status === 'missing' ? { readyToUse: false, ...error(missing) } : status);
  const answers = { askContent: undefined, saveError: undefined };
  const snapshot = aSnapshot({ status: statusOf('VolumeSnapshotContent is missing') });
  const ofSnapshot = await walkFlow(cutContent({ ...rest, kind: snapshotKind, snapshot }), answers);
  const group = aGroup({ status: statusOf('VolumeGroupSnapshotContent is missing') });
  const ofGroup = await walkFlow(cutContent({ ...rest, kind: groupKind, snapshot: group }), answers);
  const isAsked = then === 'the API server is asked';
  expect(ofSnapshot.steps.filter((line) => line.endsWith('askContent'))).toEqual(isAsked ? ['S11 askContent'] : []);
  expect(ofGroup.steps.filter((line) => line.endsWith('askContent'))).toEqual(isAsked ? ['G12 askContent'] : []);
});

it('given a snapshot or a group that was cut and whose content the cache lacks, when the API server has it, then the status follows it, and no other content is made', async () => {
  const status = { creationTime: '2026-01-01T00:00:00Z' };
  const ofSnapshot = await walkFlow(
    handleSnapshot({ ...nothing, snapshot: aSnapshot({ status }), classes: [aClass()] }, someSettings()),
    {
      prepare: aSnapshot({ status }),
      begin: undefined,
      askContent: aContent({ status: { readyToUse: false } }),
      saveStatus: undefined,
    },
  );
  const others = (line: string): boolean => !line.endsWith('prepare');
  expect(ofSnapshot.steps.filter(others)).toEqual(['S3 begin', 'S11 askContent', 'S16 saveStatus']);
  const group = aGroup({ status });
  const observed = { group, classes: [aGroupClass()], content: undefined };
  const ofGroup = await walkFlow(
    handleGroup({ ...observed, nodes: [], incomplete: [], owned: [], beingRestored: [] }),
    {
      prepare: group,
      begin: undefined,
      askContent: aGroupContent(),
      saveStatus: undefined,
    },
  );
  expect(ofGroup.steps.filter(others)).toEqual(['G3 begin', 'G12 askContent', 'G16 saveStatus']);
});
