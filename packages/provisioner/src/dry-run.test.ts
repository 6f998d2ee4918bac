// SPDX-License-Identifier: Apache-2.0
/** What a dry run of csi-provisioner answers in states that its flows are tested with. */
import {
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
  storageClasses,
  type StorageClass,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { aDryWorld } from '@csi-sidecars/runtime/testing';
import type { DryAction } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { aClaim, aClass, aDriver, aVolume } from '../testing/builders.ts';
import { dryRun, type ProvisionerDryQuestion } from './dry-run.ts';
import { volumeFinalizer } from './names.ts';

const driver = aDriver({ controller: ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME'] });
const patch = (resource: string): DryAction => ({ kind: 'write', verb: 'patch', resource });
const call = (method: string): DryAction => ({ kind: 'call', method });
const done: DryAction = { kind: 'conclude', outcome: { kind: 'done' } };
const none: DryAction = { kind: 'none' };
const withSecret: Partial<StorageClass> = {
  parameters: {
    'csi.storage.k8s.io/provisioner-secret-name': 'login',
    'csi.storage.k8s.io/provisioner-secret-namespace': 'team',
  },
};

interface Row {
  readonly row: string | undefined;
  readonly given: string;
  readonly claim?: Parameters<typeof aClaim>[0];
  readonly storageClass?: Partial<StorageClass> | 'none';
  readonly volume?: Parameters<typeof aVolume>[0];
  readonly secret?: 'there';
  readonly attachedTo?: string;
  readonly question?: Partial<ProvisionerDryQuestion>;
  readonly action: DryAction;
}

const volumes = { loop: 'volumes', key: 'pvc-uid-data' } as const;
const retry = (text: string): DryAction => ({ kind: 'conclude', outcome: { kind: 'retry', text } });

const table: readonly Row[] = [
  { row: 'C22', given: 'a claim that needs a volume', action: call('CreateVolume') },
  {
    row: 'C36',
    given: 'the same with --provisioning-protection=always',
    question: { args: ['--provisioning-protection=always'] },
    action: { kind: 'write', verb: 'update', resource: 'persistentvolumeclaims' },
  },
  {
    row: 'C8',
    given: 'a claim whose class is missing',
    storageClass: 'none',
    action: retry('storageClass "fast" not found'),
  },
  {
    row: 'C9',
    given: 'a claim that waits for a node',
    storageClass: { volumeBindingMode: 'WaitForFirstConsumer' },
    action: done,
  },
  {
    row: 'C19',
    given: 'a claim whose class names a secret that is missing',
    storageClass: withSecret,
    action: retry('error getting secret login in namespace team: secrets "login" not found'),
  },
  {
    row: 'C22',
    given: 'a claim whose class names a secret that is there',
    storageClass: withSecret,
    secret: 'there',
    action: call('CreateVolume'),
  },
  { row: undefined, given: 'the UID of no claim', question: { key: 'uid-other' }, action: none },
  { row: 'V11', given: 'a volume that is to be deleted', volume: {}, question: volumes, action: call('DeleteVolume') },
  {
    row: 'V2',
    given: 'a bound volume without the finalizer',
    volume: { phase: 'Bound', finalizers: [] },
    question: volumes,
    action: patch('persistentvolumes'),
  },
  {
    row: 'V3',
    given: 'a volume that is retained and has the finalizer',
    volume: { policy: 'Retain', finalizers: [volumeFinalizer] },
    question: volumes,
    action: patch('persistentvolumes'),
  },
  {
    row: 'V10',
    given: 'a volume that is to be deleted and is attached',
    volume: {},
    attachedTo: 'node1',
    question: volumes,
    action: {
      kind: 'conclude',
      outcome: {
        kind: 'postpone',
        text: 'persistentvolume pvc-uid-data is still attached to node node1, waiting for detach',
      },
    },
  },
];

it.each(table)('[explain#87] given $given, then the dry run comes to row $row', async ({ row, action, ...given }) => {
  const { claim = {}, storageClass = {}, volume, secret, attachedTo, question } = given;
  const world = aDryWorld(
    [
      { resource: persistentVolumeClaims, objects: [aClaim(claim)] },
      { resource: storageClasses, objects: storageClass === 'none' ? [] : [aClass(storageClass)] },
      { resource: persistentVolumes, objects: volume === undefined ? [] : [aVolume(volume)] },
      { resource: volumeAttachments, objects: attachedTo === undefined ? [] : [attachmentTo(attachedTo)] },
    ],
    secret === undefined ? [] : [{ resource: secrets, objects: [loginSecret] }],
  );
  const answer = await dryRun(world, { loop: 'claims', key: 'uid-data', args: [], driver, ...question });
  expect([answer.row, answer.action]).toEqual([row, action]);
});

const loginSecret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'team', name: 'login' },
  data: { password: 'c2VjcmV0' },
};

function attachmentTo(nodeName: string) {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: 'va1', uid: 'uid-of-va1' },
    spec: { attacher: driver.name, nodeName, source: { persistentVolumeName: 'pvc-uid-data' } },
  };
}

it('given node deployment, then the instance of the node is asked about, and one that is not known is assumed to work for all nodes', async () => {
  const world = aDryWorld([
    { resource: persistentVolumeClaims, objects: [aClaim({ node: 'node1' })] },
    { resource: storageClasses, objects: [aClass({ volumeBindingMode: 'WaitForFirstConsumer' })] },
  ]);
  const question = { loop: 'claims', key: 'uid-data', args: ['--node-deployment'], driver } as const;
  const ofNode = (name: string) => ({ name, id: `id-of-${name}`, segments: undefined });
  expect((await dryRun(world, { ...question, node: ofNode('node2') })).row).toBe('C51');
  expect((await dryRun(world, { ...question, node: ofNode('node1') })).row).toBe('C22');
  const unknown = await dryRun(world, question);
  expect(unknown.assumed).toContain('one instance works for all nodes');
});
