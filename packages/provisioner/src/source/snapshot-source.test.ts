// SPDX-License-Identifier: Apache-2.0
/** One line per row of the table of snapshots as source. */
import type { VolumeSnapshot, VolumeSnapshotContent } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aClaim, aClass, aContent, type ClaimFacts, aSnapshot, driverName } from '../../testing/builders.ts';
import { showAnswer } from '../../testing/source-builders.ts';
import { snapshotSourceProtection } from '../names.ts';
import { decideSnapshot, type SnapshotFacts } from './snapshot-source.ts';
import type { SourceAnswer } from './source-answer.ts';

interface Given {
  readonly snapshot?: VolumeSnapshot;
  readonly content?: VolumeSnapshotContent;
  readonly claim?: ClaimFacts;
  readonly facts?: Partial<SnapshotFacts>;
}

function judge({ snapshot = aSnapshot(), content = aContent(), claim = {}, facts = {} }: Given = {}): SourceAnswer {
  return decideSnapshot({
    claim: aClaim(claim),
    storageClass: aClass(),
    driverName,
    name: 'daily',
    snapshot: { kind: 'found', object: snapshot },
    content: { kind: 'found', object: content },
    preventsModeConversion: true,
    readsPlaces: true,
    ...facts,
  });
}

const failed = (message: string) => ({ kind: 'failed', message }) as const;
const finalizers = [snapshotSourceProtection];
const its = 'snapshotcontent content-daily for snapshot daily';
const reference = aContent().spec?.volumeSnapshotRef;
const referring = (change: object) => ({
  content: aContent({ spec: { volumeSnapshotRef: { ...reference, ...change } } }),
});
const request = (storage?: string): ClaimFacts => ({
  spec: { resources: { requests: storage === undefined ? {} : { storage } } },
});
const block: ClaimFacts = { spec: { volumeMode: 'Block' } };
const annotated = (text: string): Given => ({
  claim: block,
  content: aContent({ annotations: { 'snapshot.storage.kubernetes.io/allow-volume-mode-change': text } }),
});
const noPermission =
  'R10 requested volume team/data modifies the mode of the source volume but does not have permission to do so. ';
const allow = 'snapshot.storage.kubernetes.io/allow-volume-mode-change';

const rows: readonly [string, string, Given, string][] = [
  [
    '[R1]',
    'cannot be read',
    { facts: { snapshot: failed('no answer') } },
    'R1 error getting snapshot daily from api server: no answer',
  ],
  [
    '[R2] [provisioner#127]',
    'is being deleted',
    { snapshot: aSnapshot({ deleting: 'yes' }) },
    'R2 snapshot daily is being deleted',
  ],
  [
    '[R2] [provisioner#128]',
    'is being deleted with a foreign finalizer',
    { snapshot: aSnapshot({ deleting: 'yes', finalizers: ['x.io/y'] }) },
    'R2 snapshot daily is being deleted',
  ],
  [
    '[R11] [provisioner#129]',
    'is being deleted with our finalizer',
    { snapshot: aSnapshot({ deleting: 'yes', finalizers }) },
    'R11 usable, protected',
  ],
  ['[R3] [provisioner#119]', 'has no status', { snapshot: aSnapshot({ status: null }) }, 'R3 snapshot daily not bound'],
  [
    '[R3] [provisioner#119]',
    'names no content',
    { snapshot: aSnapshot({ status: { readyToUse: true } }) },
    'R3 snapshot daily not bound',
  ],
  [
    '[R3]',
    'names an empty content',
    { snapshot: aSnapshot({ status: { boundVolumeSnapshotContentName: '' } }) },
    'R3 snapshot daily not bound',
  ],
  ['[R4]', 'names a content that is unread', { facts: { content: 'unread' } }, 'R4 read content-daily'],
  [
    '[R4]',
    'names a content that cannot be read',
    { facts: { content: failed('gone') } },
    'R4 error getting snapshotcontent content-daily for snapshot daily: gone',
  ],
  [
    '[R5] [provisioner#120]',
    'is not the one of the content: UID',
    referring({ uid: 'x' }),
    `R5 ${its} is bound to a different snapshot`,
  ],
  [
    '[R5] [provisioner#120]',
    'is not the one of the content: namespace',
    referring({ namespace: 'x' }),
    `R5 ${its} is bound to a different snapshot`,
  ],
  [
    '[R5] [provisioner#120]',
    'is not the one of the content: name',
    referring({ name: 'x' }),
    `R5 ${its} is bound to a different snapshot`,
  ],
  [
    '[R6] [provisioner#121]',
    'is of another driver',
    { content: aContent({ spec: { driver: 'x' } }) },
    `R6 ${its} is not handled by CSI driver of StorageClass fast`,
  ],
  [
    '[R7] [provisioner#118]',
    'is not ready',
    { snapshot: aSnapshot({ ready: false }) },
    'R7 snapshot daily is not Ready',
  ],
  [
    '[R7] [provisioner#118]',
    'does not say whether it is ready',
    { snapshot: aSnapshot({ status: { boundVolumeSnapshotContentName: 'content-daily' } }) },
    'R7 snapshot daily is not Ready',
  ],
  [
    '[R8] [provisioner#122]',
    'has a content without status',
    { content: aContent({ status: null }) },
    'R8 snapshot handle daily is not available',
  ],
  [
    '[R8] [provisioner#122]',
    'has a content without handle',
    { content: aContent({ status: {} }) },
    'R8 snapshot handle daily is not available',
  ],
  [
    '[R8]',
    'has a content with an empty handle',
    { content: aContent({ status: { snapshotHandle: '' } }) },
    'R8 snapshot handle daily is not available',
  ],
  [
    '[R9] [provisioner#115]',
    'is larger than the claim',
    { claim: request('1Gi') },
    'R9 requested volume size 1073741824 is less than the size 5368709120 for the source snapshot daily',
  ],
  [
    '[R9] [provisioner#69]',
    'is for a claim without a size',
    { claim: request() },
    'R9 error getting capacity for PVC data when creating snapshot daily',
  ],
  [
    '[R9]',
    'has an odd size',
    { snapshot: aSnapshot({ restoreSize: 'big' }) },
    'R9 restore size "big" of snapshot daily is not a quantity',
  ],
  ['[R11]', 'has the size of the claim', { claim: request('5Gi') }, 'R11 usable'],
  ['[R11]', 'is smaller than the claim', { claim: request('6Gi') }, 'R11 usable'],
  [
    '[R11]',
    'has no size, and neither has the claim',
    { snapshot: aSnapshot({ restoreSize: undefined }), claim: request() },
    'R11 usable',
  ],
  [
    '[R10] [provisioner#124]',
    'has another mode',
    { claim: block },
    `${noPermission}${allow} annotation is not present on snapshotcontent content-daily`,
  ],
  [
    '[R10] [provisioner#124]',
    'has another mode and the annotation false',
    annotated('false'),
    `${noPermission}${allow} is set to false on snapshotcontent content-daily`,
  ],
  [
    '[R10] [provisioner#124]',
    'has another mode and an odd annotation',
    annotated('yes'),
    `${noPermission}failed to convert ${allow} annotation value to boolean with error: strconv.ParseBool: parsing "yes": invalid syntax`,
  ],
  ['[R11] [provisioner#124]', 'has another mode and the annotation true', annotated('true'), 'R11 usable'],
  ['[R11] [provisioner#124]', 'has another mode and the annotation t', annotated('t'), 'R11 usable'],
  [
    '[R11] [provisioner#125]',
    'has no recorded mode',
    { claim: block, content: aContent({ spec: { sourceVolumeMode: undefined } }) },
    'R11 usable',
  ],
  [
    '[R11] [provisioner#126]',
    'has another mode, which is not prevented',
    { claim: block, facts: { preventsModeConversion: false } },
    'R11 usable',
  ],
  ['[R11]', 'can be restored', {}, 'R11 usable'],
  [
    '[R12]',
    'has places that are no list',
    { content: aContent({ spec: { nodeAffinity: 'zone-a' } }) },
    `R12 nodeAffinity of ${its} cannot be used: it is not a list`,
  ],
  [
    '[R11]',
    'has places that are no list, which are not looked at',
    { content: aContent({ spec: { nodeAffinity: 'zone-a' } }), facts: { readsPlaces: false } },
    'R11 usable',
  ],
];

it.each(rows.map(([ids, what, given, then]) => ({ ids, what, given, then })))(
  '$ids given a snapshot that $what, when judged, then the row of the table',
  ({ given, then }) => {
    expect(showAnswer(judge(given))).toBe(then);
  },
);

it('[provisioner#125] given a claim without volume mode, then the mode of the snapshot does not matter', () => {
  const { volumeMode: _none, ...spec } = aClaim().spec ?? {};
  const facts = { claim: { ...aClaim(), spec } };
  expect(showAnswer(judge({ facts, content: aContent({ spec: { sourceVolumeMode: 'Block' } }) }))).toBe('R11 usable');
});

it('[provisioner#114] given a usable snapshot, then the request names its handle', () => {
  expect(judge()).toMatchObject({ content: { snapshot: { snapshot_id: 'snapshot-handle' } } });
});
