// SPDX-License-Identifier: Apache-2.0
/**
 * Asks a dry run of each loop, and prints `program loop: row` for each. With the argument `mutants` every flow begins with another step, which
 * deletes something in the row `mutant`: whoever has a copy of a flow does not notice. A process of its own, because sources are edited while
 * they are loaded.
 */
import type { Resource } from '@csi-sidecars/runtime';
import { aDryWorld } from '@csi-sidecars/runtime/testing';
import type { DryRunResult, KnownObjects } from '@csi-sidecars/sidecar';
import { editSources } from '../bugs/put-back.ts';

/** File, and the end of what the step is put behind. */
const flows: readonly (readonly [file: string, behind: string])[] = [
  ['attacher/src/attach/flow.ts', 'export function* attach(seen: Observed, context: FlowContext): Flow<Conclusion> {'],
  ['attacher/src/pv-finalizer.ts', 'Observed, driverName: string): Flow<Conclusion> {'],
  ['attacher/src/trivial.ts', 'export function* attach(attachment: VolumeAttachment | undefined): Flow<Conclusion> {'],
  [
    'provisioner/src/claim/flow.ts',
    'export function* provision(observed: Observed, context: ClaimContext): Flow<Concluded> {',
  ],
  [
    'provisioner/src/volume/flow.ts',
    'export function* lookAfter(seen: step.Observed, context: FlowContext): Flow<Conclusion> {',
  ],
  ['resizer/src/expand/flow.ts', 'export function* expand(seen: Observed, context: FlowContext): Flow<Conclusion> {'],
  ['resizer/src/modify/flow.ts', 'export function* modify(seen: Observed, context: FlowContext): Flow<Conclusion> {'],
  ['snapshotter/src/flow.ts', '  const { content, class: found } = seen;'],
  [
    'snapshot-controller/src/snapshot/flow.ts',
    'export function* handle(seen: Observed, settings: FlowSettings): Flow<Conclusion> {',
  ],
  [
    'snapshot-controller/src/group-snapshot/flow.ts',
    'export function* handle({ group, ...seen }: Observed): Flow<Conclusion> {',
  ],
  ['snapshot-controller/src/content/flow.ts', '  const { rows, invalid, mark } = kind;'],
  [
    'snapshot-controller/src/claim.ts',
    'function* lookAfter({ claim, isLeft, hasSnapshot }: Observed): Flow<Conclusion> {',
  ],
];
const step = `yield { row: 'mutant', perform: ({ client }) => client.delete({ plural: 'mutants' }, { name: 'x' }), args: [] };`;

if (process.argv[2] === 'mutants') {
  editSources(
    flows.map(([file, behind]) => ({ file: `packages/${file}`, find: behind, replace: `${behind}\n  ${step}` })),
  );
}

const runtime = await import('@csi-sidecars/runtime');
const volume = await import('@csi-sidecars/volume');
const attacher = await import('@csi-sidecars/attacher/dry-run');
const provisioner = await import('@csi-sidecars/provisioner/dry-run');
const resizer = await import('@csi-sidecars/resizer/dry-run');
const snapshotter = await import('@csi-sidecars/snapshotter/dry-run');
const snapshotController = await import('@csi-sidecars/snapshot-controller/dry-run');

const name = 'd.example.com';
const driver = {
  name,
  pluginCapabilities: new Set(['CONTROLLER_SERVICE']),
  controllerCapabilities: new Set([
    'CREATE_DELETE_VOLUME',
    'PUBLISH_UNPUBLISH_VOLUME',
    'EXPAND_VOLUME',
    'MODIFY_VOLUME',
    'CREATE_DELETE_SNAPSHOT',
  ]),
  expansion: 'controller' as const,
};
const attachesNothing = { ...driver, controllerCapabilities: new Set<string>() };
const groups = ['--feature-gates=CSIVolumeGroupSnapshot=true'];

/** One object of each kind, all named `one`: enough to be looked at. */
function one(resource: Resource, fields: object): KnownObjects {
  const place = resource.namespaced ? { namespace: 'team' } : {};
  const metadata = { name: 'one', uid: 'uid-of-one', resourceVersion: '1', ...place };
  return { resource, objects: [{ metadata, ...fields }] };
}

const claim = {
  metadata: {
    namespace: 'team',
    name: 'one',
    uid: 'uid-of-one',
    annotations: { 'volume.kubernetes.io/storage-provisioner': name },
  },
  spec: { storageClassName: 'one', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const reference = { namespace: 'team', name: 'one', uid: 'uid-of-one' };
const world = aDryWorld([
  one(runtime.persistentVolumeClaims, claim),
  one(runtime.persistentVolumes, {
    metadata: { name: 'one', uid: 'u', annotations: { 'pv.kubernetes.io/provisioned-by': name } },
    spec: { csi: { driver: name, volumeHandle: 'h' }, persistentVolumeReclaimPolicy: 'Delete' },
  }),
  one(runtime.volumeAttachments, {
    spec: { attacher: name, nodeName: 'node', source: { persistentVolumeName: 'one' } },
  }),
  one(volume.volumeSnapshots, { spec: { source: {} } }),
  one(volume.volumeSnapshotContents, { spec: { driver: name, source: {}, volumeSnapshotRef: reference } }),
  one(volume.volumeGroupSnapshots, { spec: { source: {} } }),
  one(volume.volumeGroupSnapshotContents, { spec: { driver: name, source: {}, volumeGroupSnapshotRef: reference } }),
]);

const [key, inTeam] = ['one', 'team/one'];
const answers: readonly (readonly [string, Promise<DryRunResult>])[] = [
  ['csi-attacher attachments', attacher.dryRun(world, { loop: 'attachments', key, args: [], driver })],
  ['csi-attacher volumes', attacher.dryRun(world, { loop: 'volumes', key, args: [], driver })],
  [
    'csi-attacher attachments, driver that attaches nothing',
    attacher.dryRun(world, { loop: 'attachments', key, args: [], driver: attachesNothing }),
  ],
  ['csi-provisioner claims', provisioner.dryRun(world, { loop: 'claims', key: 'uid-of-one', args: [], driver })],
  ['csi-provisioner volumes', provisioner.dryRun(world, { loop: 'volumes', key, args: [], driver })],
  ...(['expand', 'modify'] as const).map(
    (loop) => [`csi-resizer ${loop}`, resizer.dryRun(world, { loop, key: inTeam, args: [], driver })] as const,
  ),
  ...(['contents', 'groupContents'] as const).map(
    (loop) =>
      [
        `csi-snapshotter ${loop}`,
        snapshotter.dryRun(world, { loop, key, args: groups, driver, servesGroups: true }),
      ] as const,
  ),
  ...(['snapshots', 'groupSnapshots', 'contents', 'groupContents', 'claims'] as const).map(
    (loop) =>
      [
        `snapshot-controller ${loop}`,
        snapshotController.dryRun(world, {
          loop,
          key: loop.toLowerCase().endsWith('contents') ? key : inTeam,
          args: groups,
          servesGroups: true,
        }),
      ] as const,
  ),
];
for (const [about, answer] of answers) process.stdout.write(`${about}: ${(await answer).row}\n`);
