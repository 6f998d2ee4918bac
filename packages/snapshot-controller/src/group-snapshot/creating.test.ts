// SPDX-License-Identifier: Apache-2.0
/** Dynamic groups from their creation until their members exist and they are ready. */
import {
  type KubeObject,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
} from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { faultOn, type TestCluster, there } from '@csi-sidecars/test-driver/testing';
import {
  memberNamesOf,
  snapshotAnnotations,
  snapshotFinalizers as finalizers,
  type VolumeGroupSnapshot,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aContent,
  aDefaultGroupClass,
  aGroup,
  aGroupClass,
  aGroupContent,
  aSnapshot,
  aVolume,
} from '../../testing/builders.ts';
import {
  aController,
  conflict,
  type Fixture,
  type FixtureOptions,
  forbidden,
  refuseInTurn,
} from '../../testing/controller-fixture.ts';
import { owner } from '../../testing/snapshot-states.ts';
import { planContent } from './plan-content.ts';

const name = 'groupsnapcontent-uid-of-group';
const bound = { boundVolumeGroupSnapshotContentName: name, readyToUse: false };
const first = memberNamesOf('uid-of-group', 'handle-1');
const second = memberNamesOf('uid-of-group', 'handle-2');
const nanos = 1_700_000_000_123_456_789n;
const cut = {
  volumeGroupSnapshotHandle: 'g1',
  creationTime: '2023-11-14T22:13:20Z',
  readyToUse: true,
  volumeSnapshotInfoList: [
    { volumeHandle: 'handle-1', snapshotHandle: 's1', creationTime: nanos, readyToUse: true, restoreSize: 2 ** 30 },
    { volumeHandle: 'handle-2', snapshotHandle: 's2' },
  ],
};

const labelled = (claimName: string, labels: Readonly<Record<string, string>>): PersistentVolumeClaim =>
  aClaim({ name: claimName, metadata: { labels }, spec: { volumeName: `pv-of-${claimName}` } });
const volumeOf = (claim: PersistentVolumeClaim, handle: string, spec: object = {}): KubeObject =>
  aVolume({ name: `pv-of-${claim.metadata?.name}`, claim, handle, spec });
const data = labelled('data', { app: 'db' });
const log = labelled('log', { app: 'db', tier: 'log' });
const other = labelled('other', { app: 'web' });
const cluster = [data, log, other, volumeOf(data, 'handle-1'), volumeOf(log, 'handle-2'), volumeOf(other, 'handle-3')];

const given = (group: VolumeGroupSnapshot = aGroup(), options: FixtureOptions = {}): Promise<Fixture> =>
  aController({ seed: [...cluster, aGroupClass()], with: [group], ...options });
const withoutClass = (group: VolumeGroupSnapshot): VolumeGroupSnapshot => {
  const { volumeGroupSnapshotClassName: _, ...spec } = group.spec ?? {};
  return { ...group, spec };
};
const failure = (it: Fixture): string | undefined => it.group()?.status?.error?.message;
const creation = (cause: string): string => `failed to create group snapshot content with error ${cause}`;
const input = (cause: string): string =>
  creation(`failed to get input parameters to create group snapshot group: ${JSON.stringify(cause)}`);
const snapshotNamed = (it: Fixture, called: string) => it.get(volumeSnapshots, { namespace: 'team', name: called });
const withoutFaults = (testCluster: TestCluster): TestCluster => {
  testCluster.faults.length = 0;
  return testCluster;
};
const warnings = (it: Fixture): readonly string[] => it.events.filter((line) => line.startsWith('Warning'));

describe('the content of a group', () => {
  it('[snapshot-controller#134, 148, G3] [P4] given two claims, then the finalizer comes before the content, and the content has both handles', async () => {
    const it = await given();
    expect(it.writes()).toEqual([
      'patch volumegroupsnapshots team/group 200',
      `create volumegroupsnapshotcontents ${name} 201`,
      'patch volumegroupsnapshots/status team/group 200',
    ]);
    expect(it.group()).toMatchObject({ metadata: { finalizers: [finalizers.groupBound] }, status: bound });
    expect(it.groupContent()).toMatchObject({
      metadata: { finalizers: [finalizers.groupContent] },
      spec: {
        source: { volumeHandles: ['handle-1', 'handle-2'] },
        driver: 'd.example.com',
        deletionPolicy: 'Delete',
        volumeGroupSnapshotClassName: 'group-gold',
        volumeGroupSnapshotRef: { kind: 'VolumeGroupSnapshot', name: 'group', namespace: 'team', uid: 'uid-of-group' },
      },
    });
    expect(it.events).toEqual([
      'Normal CreatingGroupSnapshot team/group: Waiting for a group snapshot team/group to be created by the CSI driver.',
    ]);
    expect(there(it.claim()).metadata?.finalizers).toBeUndefined();
    await it.stop();
  });

  it.each([
    {
      given: 'expressions only',
      selector: { matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
      handles: ['handle-2'],
    },
    {
      given: 'labels and expressions',
      selector: { matchLabels: { app: 'db' }, matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['log'] }] },
      handles: ['handle-1'],
    },
    {
      given: 'values',
      selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'x'] }] },
      handles: ['handle-3'],
    },
    {
      given: 'no tier',
      selector: { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
      handles: ['handle-1', 'handle-3'],
    },
    { given: 'nothing', selector: {}, handles: ['handle-1', 'handle-2', 'handle-3'] },
  ])(
    '[snapshot-controller#142] [P3] given a selector with $given, then exactly the claims that it selects are taken',
    async ({ selector, handles }) => {
      const it = await given(aGroup({ spec: { source: { selector } } }));
      expect(it.groupContent()?.spec?.source?.volumeHandles).toEqual(handles);
      await it.stop();
    },
  );

  it('[snapshot-controller#141] given claims that are labelled or lose their label later, then the group stays as it was taken', async () => {
    const it = await given();
    const label = (app: string) => (claim: PersistentVolumeClaim) => ({
      ...claim,
      metadata: { ...claim.metadata, labels: { app } },
    });
    await it.change(persistentVolumeClaims, { namespace: 'team', name: 'other' }, label('db'));
    await it.change(persistentVolumeClaims, { namespace: 'team', name: 'log' }, label('x'));
    await it.clock.advance(900_000);
    expect(it.groupContent()?.spec?.source?.volumeHandles).toEqual(['handle-1', 'handle-2']);
    await it.stop();
  });

  it('[snapshot-controller#133, G10] given no class, when there is one default for the driver of the first volume, then it is written with the finalizer', async () => {
    const it = await given(withoutClass(aGroup()), { seed: [...cluster, aDefaultGroupClass('std')] });
    expect(it.bodies()[0]).toMatchObject({
      metadata: { finalizers: [finalizers.groupBound] },
      spec: { volumeGroupSnapshotClassName: 'std' },
    });
    expect(it.groupContent()?.spec?.volumeGroupSnapshotClassName).toBe('std');
    await it.stop();
  });

  it('given a content that is refused with another text each time, then the backoff holds', async () => {
    const { faults, count } = refuseInTurn('volumegroupsnapshotcontents');
    const it = await given(aGroup(), { faults });
    await it.clock.advance(60_000);
    // At 0, 1, 3, 7, 15 and 31 s.
    expect(count()).toBe(6);
    await it.stop();
  });

  it('[snapshot-controller#133, G5] given no class, when no class is a default, then the words are those of groups', async () => {
    const it = await given(withoutClass(aGroup()), { seed: [...cluster, aGroupClass()] });
    const text = 'Failed to set default group snapshot class with error cannot find default group snapshot class';
    expect(it.group()?.status?.error?.message).toBe(text);
    expect(it.events).toEqual([`Warning SetDefaultGroupSnapshotClassFailed team/group: ${text}`]);
    await it.stop();
  });

  it('[snapshot-controller#133, G9] [P9] given two default classes, then status and event say so, and the end of one starts the group', async () => {
    const it = await given(withoutClass(aGroup()), {
      seed: [...cluster, aDefaultGroupClass('a'), aDefaultGroupClass('b')],
    });
    const text = 'Failed to set default group snapshot class with error 2 default snapshot classes were found';
    expect(it.group()?.status).toEqual({ error: { time: expect.any(String), message: text } });
    expect(it.events).toEqual([`Warning SetDefaultGroupSnapshotClassFailed team/group: ${text}`]);
    await it.change(volumeGroupSnapshotClasses, { name: 'a' }, (found) => ({
      ...found,
      metadata: { name: 'a', uid: 'a' },
    }));
    expect(it.groupContent()?.spec?.volumeGroupSnapshotClassName).toBe('b');
    await it.stop();
  });

  it('[P13] given that the class cannot be written, then the group is tried again', async () => {
    const it = await given(withoutClass(aGroup()), {
      seed: [...cluster, aDefaultGroupClass('std')],
      faults: [
        { when: ({ verb, resource }) => verb === 'patch' && resource === 'volumegroupsnapshots', fault: forbidden },
      ],
    });
    expect(it.events[0]).toMatch(
      /^Warning GroupSnapshotFinalizerError team\/group: Failed to check and update group snapshot: ./,
    );
    expect(it.groupContent()).toBeUndefined();
    await it.clock.advance(2_000);
    expect(it.groupContent()).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#20] given a secret of the class, then the content has its annotations', async () => {
    const parameters = {
      'csi.storage.k8s.io/group-snapshotter-secret-name': '${volumegroupsnapshot.name}-secret',
      'csi.storage.k8s.io/group-snapshotter-secret-namespace': '${volumegroupsnapshot.namespace}',
    };
    const it = await given(aGroup(), { seed: [...cluster, aGroupClass('group-gold', { parameters })] });
    expect(it.groupContent()?.metadata?.annotations).toEqual({
      [snapshotAnnotations.groupDeletionSecretName]: 'group-secret',
      [snapshotAnnotations.groupDeletionSecretNamespace]: 'team',
    });
    await it.stop();
  });

  it.each([
    {
      id: '[snapshot-controller#137]',
      given: 'no claim that is selected',
      seed: [other, aGroupClass()],
      reasons: ['GroupSnapshotContentCreationFailed'],
      text: input('label selector app=db for group snapshot not applied to any PVC'),
    },
    {
      id: '[snapshot-controller#138]',
      given: 'a claim that is not bound',
      seed: [data, { ...log, status: { phase: 'Pending' } }, ...cluster.slice(3), aGroupClass()],
      reasons: ['GroupSnapshotContentCreationFailed'],
      text: input('the PVC log is not yet bound to a PV, will not attempt to take a group snapshot'),
    },
    {
      id: '[snapshot-controller#139]',
      given: 'a volume that is not CSI',
      seed: [
        data,
        log,
        volumeOf(data, 'handle-1'),
        { ...aVolume({ name: 'pv-of-log' }), spec: { claimRef: { namespace: 'team', name: 'log' } } },
        aGroupClass(),
      ],
      reasons: ['GroupSnapshotContentCreationFailed', 'CreateGroupSnapshotContentFailed'],
      text: creation('cannot snapshot a non-CSI volume for group snapshot team/group: pv-of-log'),
    },
    {
      id: '[snapshot-controller#140]',
      given: 'a volume of another driver',
      seed: [
        data,
        log,
        volumeOf(data, 'handle-1'),
        volumeOf(log, 'h', { csi: { driver: 'other', volumeHandle: 'h' } }),
        aGroupClass(),
      ],
      reasons: ['GroupSnapshotContentCreationFailed', 'CreateGroupSnapshotContentFailed'],
      text: creation(
        'snapshot controller failed to update team/group on API server: Volume CSI driver (other) mismatch with VolumeGroupSnapshotClass (d.example.com) team/group: pv-of-log',
      ),
    },
  ])(
    '[snapshot-controller#G11] $id given $given, then there is neither content nor finalizer',
    async ({ seed, text, reasons }) => {
      const it = await aController({ seed, with: [aGroup()] });
      expect(it.group()?.status).toMatchObject({ readyToUse: false, error: { message: text } });
      expect([...new Set(it.events.map((line) => line.split(' ')[1]))]).toEqual(reasons);
      expect(it.groupContent()).toBeUndefined();
      expect(there(it.group()).metadata?.finalizers).toBeUndefined();
      await it.stop();
    },
  );

  it('[snapshot-controller#138] [P9] given a claim that is bound late, or a PersistentVolume that comes late, then the group is taken at once', async () => {
    const unbound = { ...log, status: { phase: 'Pending' } };
    const it = await aController({ seed: [data, unbound, ...cluster.slice(3, 4), aGroupClass()], with: [aGroup()] });
    await it.clock.advance(60_000);
    await it.change(persistentVolumeClaims, { namespace: 'team', name: 'log' }, (claim) => ({
      ...claim,
      status: { phase: 'Bound' },
    }));
    expect(failure(it)).toContain('failed to retrieve PV pv-of-log');
    await it.add(volumeOf(log, 'handle-2'));
    expect(it.groupContent()?.spec?.source?.volumeHandles).toEqual(['handle-1', 'handle-2']);
    await it.stop();
  });

  it('[snapshot-controller#135, G4] given a class that does not exist, then status and event say so, and its arrival starts the group', async () => {
    const it = await given(aGroup(), { seed: cluster });
    const text =
      'failed to get group snapshot class with error volumegroupsnapshotclass.groupsnapshot.storage.k8s.io "group-gold" not found';
    expect(failure(it)).toBe(text);
    expect(there(it.group()?.status).readyToUse).toBeUndefined();
    expect(it.events).toEqual([`Warning GetGroupSnapshotClassFailed team/group: ${text}`]);
    await it.add(aGroupClass());
    expect(it.groupContent()).toBeDefined();
    await it.stop();
  });

  it('[P11] given a problem that cannot be written to the status, then its event is about the group', async () => {
    const it = await given(aGroup(), {
      seed: cluster,
      faults: [faultOn('patch volumegroupsnapshots/status', forbidden)],
    });
    expect(there(it.group()).status).toBeUndefined();
    expect(it.events).toEqual([
      expect.stringMatching(/^Warning GetGroupSnapshotClassFailed team\/group: failed to get group snapshot class /),
    ]);
    await it.stop();
  });

  it('[snapshot-controller#136] given no class at all, then no content is planned', () => {
    expect(planContent({ groupClass: undefined, sources: [], nodes: [] }, aGroup())).toEqual({
      kind: 'refused',
      message:
        'failed to get input parameters to create group snapshot group: "failed to take group snapshot group without a group snapshot class"',
    });
  });

  it.each([
    { given: 'neither source', source: {} },
    { given: 'both sources', source: { selector: {}, volumeGroupSnapshotContentName: 'x' } },
    { given: 'neither source and no class, P22', source: {}, hasClass: false },
    { given: 'no spec, P22', source: undefined },
  ])('[snapshot-controller#G2] given $given, then status and event say so', async ({ source, hasClass = true }) => {
    const withSource = source === undefined ? { ...aGroup(), spec: undefined as never } : aGroup({ spec: { source } });
    const group = hasClass ? withSource : withoutClass(withSource);
    const it = await given(group);
    const text = 'Exactly one of Selector and VolumeGroupSnapshotContentName should be specified';
    expect(it.group()?.status).toMatchObject({ readyToUse: false, error: { message: text } });
    expect(it.events).toEqual([`Warning GroupSnapshotValidationError team/group: ${text}`]);
    await it.stop();
  });

  it.each([
    {
      given: 'an operator that does not exist',
      selector: { matchExpressions: [{ key: 'a', operator: 'Near' }] },
      cause: '"Near" is not a valid label selector operator',
    },
    {
      given: 'an empty key, which would be no requirement',
      selector: { matchExpressions: [{ key: '', operator: 'Exists' }] },
      cause: 'key: Invalid value: "": name part must be non-empty',
    },
    {
      given: 'a key that is two requirements as text',
      selector: { matchExpressions: [{ key: 'app,!tier', operator: 'Exists' }] },
      cause: 'key: Invalid value: "app,!tier": name part must consist of',
    },
    {
      given: 'a key with an empty prefix',
      selector: { matchLabels: { '/app': 'db' } },
      cause: 'key: Invalid value: "/app": prefix part must be non-empty',
    },
    {
      given: 'a value that is another requirement as text',
      selector: { matchLabels: { app: 'db,tier=log' } },
      cause: 'values[0][app]: Invalid value: "db,tier=log": a valid label must be an empty string or consist of',
    },
    {
      given: 'a value that ends the list',
      selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['db', 'x),!(y'] }] },
      cause: 'values[1][app]: Invalid value: "x),!(y": a valid label must be an empty string or consist of',
    },
    {
      given: 'no values of In',
      selector: { matchExpressions: [{ key: 'app', operator: 'In' }] },
      cause: "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    },
    {
      given: 'values of Exists',
      selector: { matchExpressions: [{ key: 'app', operator: 'Exists', values: ['db'] }] },
      cause: 'values: Invalid value: ["db"]: values set must be empty for exists and does not exist',
    },
  ])(
    '[snapshot-controller#142] given a selector that is not valid ($given), then nothing is listed and nothing is taken',
    async ({ selector, cause }) => {
      const it = await given(aGroup({ spec: { source: { selector } } }));
      const text = input(`failed to list PVCs with label selector <error>: ${JSON.stringify(cause).slice(0, -1)}`);
      expect(failure(it)).toContain(text.slice(0, -1));
      expect(it.groupContent()).toBeUndefined();
      await it.stop();
    },
  );

  it('given claims that cannot be listed, then the status says why, and the next attempt takes the group', async () => {
    const it = await aController({ seed: [...cluster, aGroupClass()] });
    it.fault('list persistentvolumeclaims', forbidden);
    await it.add(aGroup());
    expect(failure(it)).toBe(input('failed to list PVCs with label selector app=db: "injected fault"'));
    await it.clock.advance(2_000);
    expect(it.groupContent()?.spec?.source?.volumeHandles).toEqual(['handle-1', 'handle-2']);
    await it.stop();
  });

  it('given a claim with the label in another namespace, then it is not taken', async () => {
    const elsewhere = aClaim({
      name: 'elsewhere',
      namespace: 'other',
      metadata: { labels: { app: 'db' } },
      spec: { volumeName: 'pv-of-elsewhere' },
    });
    const it = await given(aGroup(), { seed: [...cluster, aGroupClass(), elsewhere, volumeOf(elsewhere, 'handle-9')] });
    expect(it.groupContent()?.spec?.source?.volumeHandles).toEqual(['handle-1', 'handle-2']);
    await it.stop();
  });

  it('given a refused creation, then two events and the error, and the next attempt succeeds', async () => {
    const it = await given(aGroup(), {
      faults: [faultOn('create volumegroupsnapshotcontents', forbidden, 2)],
    });
    expect(failure(it)).toMatch(
      /^failed to create group snapshot content with error snapshot controller failed to update team\/group on API server: ./,
    );
    expect(warnings(it).map((line) => line.split(' ')[1])).toEqual([
      'CreateGroupSnapshotContentFailed',
      'GroupSnapshotContentCreationFailed',
      'CreateGroupSnapshotContentFailed',
    ]);
    await it.clock.advance(10_000);
    expect(it.group()?.status).toEqual(bound);
    await it.stop();
  });

  it('[P2] given a content that the cache does not show yet, when it is created again, then it is read and compared', async () => {
    const it = await given(aGroup({ name: 'late' }), {});
    it.fault('create volumegroupsnapshotcontents', { kind: 'delay', ms: 1_000 });
    await it.add(aGroup());
    await it.add(aGroupContent({ of: aGroup({ uid: 'another' }), name }));
    await it.clock.advance(2_000);
    expect(it.reads()).toContain(`get volumegroupsnapshotcontents ${name}`);
    expect(failure(it)).toBe(`VolumeGroupSnapshotContent [${name}] is bound to a different group snapshot`);
    expect(it.events.filter((line) => line.startsWith('Normal CreatingGroupSnapshot team/group:'))).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#G12] [P6] given a group that was cut and lost its content, then no other content is made', async () => {
    const it = await given();
    await it.reportGroup({ creationTime: cut.creationTime, readyToUse: false });
    await it.vanish(volumeGroupSnapshotContents, { name });
    await it.clock.advance(600_000);
    expect(it.groupContent()).toBeUndefined();
    expect(failure(it)).toBe('VolumeGroupSnapshotContent is missing');
    await it.stop();
  });
});

describe('members', () => {
  it('[snapshot-controller#152, 158, G15] given a group that is cut, then its members exist with what is known of them, and the group is ready in the same run', async () => {
    const it = await given();
    await it.reportGroup(cut);
    expect(it.group()?.status).toEqual({ ...bound, creationTime: cut.creationTime, readyToUse: true });
    expect(snapshotNamed(it, first.snapshot)).toMatchObject({
      metadata: {
        finalizers: [finalizers.inGroup, finalizers.asSource],
        ownerReferences: [owner],
      },
      spec: { source: { persistentVolumeClaimName: 'data' } },
      status: {
        boundVolumeSnapshotContentName: first.content,
        creationTime: '2023-11-14T22:13:20Z',
        readyToUse: true,
        restoreSize: '1Gi',
        volumeGroupSnapshotName: 'group',
      },
    });
    expect(it.content(first.content)).toMatchObject({
      metadata: {
        finalizers: [finalizers.content],
        annotations: { [snapshotAnnotations.groupHandle]: 'g1' },
      },
      spec: {
        deletionPolicy: 'Delete',
        driver: 'd.example.com',
        source: { volumeHandle: 'handle-1' },
        sourceVolumeMode: 'Filesystem',
        volumeSnapshotRef: {
          kind: 'VolumeSnapshot',
          name: first.snapshot,
          namespace: 'team',
          uid: snapshotNamed(it, first.snapshot)?.metadata?.uid,
        },
      },
      status: {
        snapshotHandle: 's1',
        volumeGroupSnapshotHandle: 'g1',
        creationTime: nanos,
        restoreSize: 2 ** 30,
        readyToUse: true,
      },
    });
    expect(there(it.content(first.content)?.spec).volumeSnapshotClassName).toBeUndefined();
    // What the driver did not say stays unset.
    expect(it.content(second.content)?.status).toEqual({ snapshotHandle: 's2', volumeGroupSnapshotHandle: 'g1' });
    expect(it.events.filter((line) => line.includes('team/group'))).toEqual([
      'Normal CreatingGroupSnapshot team/group: Waiting for a group snapshot team/group to be created by the CSI driver.',
      'Normal GroupSnapshotCreated team/group: GroupSnapshot team/group was successfully created by the CSI driver.',
      'Normal GroupSnapshotReady team/group: GroupSnapshot team/group is ready to use.',
    ]);
    await it.stop();
  });

  it.each([
    { given: 'no status', status: undefined },
    { given: 'an empty list', status: { ...cut, volumeSnapshotInfoList: [] } },
    { given: 'no handle of the group', status: { ...cut, volumeGroupSnapshotHandle: undefined as never } },
  ])(
    '[snapshot-controller#151] [P30] given $given, then there are no members, and the group is not ready',
    async ({ status }) => {
      const it = await given();
      if (status !== undefined) await it.reportGroup(status);
      expect(it.server.objects.list(volumeSnapshots)).toEqual([]);
      expect(it.group()?.status?.readyToUse).toBe(false);
      await it.stop();
    },
  );

  it('[snapshot-controller#G16] [P16] given a group that is not ready for long, then each member is written once, and its status never goes back', async () => {
    const it = await given();
    const [info, ...others] = cut.volumeSnapshotInfoList;
    const volumeSnapshotInfoList = [{ ...info, readyToUse: false }, ...others];
    await it.reportGroup({ ...cut, readyToUse: false, volumeSnapshotInfoList });
    const known = { volumeGroupSnapshotHandle: 'g1', readyToUse: true };
    const statuses = [
      { ...known, snapshotHandle: 's1', creationTime: nanos, restoreSize: 2 ** 30 },
      { ...known, snapshotHandle: 's2', restoreSize: 5 },
    ];
    await it.report(statuses[0]!, first.content);
    await it.report(statuses[1]!, second.content);
    const writes = it.writes().length;
    const status = snapshotNamed(it, second.snapshot)?.status;
    expect(status).toMatchObject({ readyToUse: true, restoreSize: '5' });
    await it.clock.advance(1_800_000);
    expect(it.writes().length).toBe(writes);
    expect([first, second].map(({ content }) => it.content(content)?.status)).toEqual(statuses);
    await it.reportGroup({ ...cut, readyToUse: true, volumeSnapshotInfoList });
    expect([first, second].map(({ content }) => it.content(content)?.status)).toEqual(statuses);
    expect(snapshotNamed(it, second.snapshot)?.status).toEqual(status);
    expect(it.events.filter((line) => line.includes('SnapshotReady') && line.includes(second.snapshot)).length).toBe(1);
    await it.stop();
  });

  it('[P30] given a ready group one of whose members is gone, then it is made again', async () => {
    const it = await given();
    await it.reportGroup(cut);
    await it.vanish(volumeSnapshotContents, { name: second.content });
    await it.clock.advance(900_000);
    expect(it.content(second.content)).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#157] given a ready group and a member whose content has the UID of an earlier snapshot, then it is bound again', async () => {
    const it = await given();
    await it.reportGroup(cut);
    const uid = snapshotNamed(it, first.snapshot)?.metadata?.uid;
    await it.change(volumeSnapshotContents, { name: first.content }, (content) => ({
      ...content,
      spec: { ...content.spec, volumeSnapshotRef: { ...content.spec?.volumeSnapshotRef, uid: 'earlier' } },
    }));
    await it.clock.advance(1_000_000);
    expect(it.content(first.content)?.spec?.volumeSnapshotRef?.uid).toBe(uid);
    await it.stop();
  });

  it('[snapshot-controller#157] given a ready group and a member that was made again and has no status yet, then it gets its status', async () => {
    const it = await given();
    await it.reportGroup(cut);
    await it.vanish(volumeSnapshots, { namespace: 'team', name: first.snapshot });
    // The process dies when the content is bound again, before the status is written.
    it.fault('patch volumesnapshots/status', forbidden, 999);
    await it.clock.advance(1_000_000);
    const again = snapshotNamed(it, first.snapshot)?.metadata?.uid;
    expect(it.content(first.content)?.spec?.volumeSnapshotRef?.uid).toBe(again);
    const next = await aController({ cluster: withoutFaults(it.crash()) });
    expect(snapshotNamed(next, first.snapshot)).toMatchObject({
      metadata: { uid: again },
      status: { boundVolumeSnapshotContentName: first.content, readyToUse: true },
    });
    await next.stop();
  });

  it('[snapshot-controller#155] given a handle that no PersistentVolume has, or two, then the member has no claim and no volume mode', async () => {
    const it = await given(aGroup(), { seed: [...cluster, aGroupClass()] });
    await it.add(aVolume({ name: 'twin', handle: 'handle-2' }));
    await it.reportGroup({
      ...cut,
      volumeSnapshotInfoList: [
        { volumeHandle: 'unknown', snapshotHandle: 's9' },
        { volumeHandle: 'handle-2', snapshotHandle: 's2' },
      ],
    });
    const { snapshot, content } = memberNamesOf('uid-of-group', 'unknown');
    for (const names of [{ snapshot, content }, second]) {
      expect(snapshotNamed(it, names.snapshot)?.spec?.source).toEqual({ persistentVolumeClaimName: '' });
      expect(there(it.content(names.content)?.spec).sourceVolumeMode).toBeUndefined();
    }
    await it.stop();
  });

  it('[snapshot-controller#155] given a volume of a claim in another namespace, then the member names no claim of its own namespace', async () => {
    const it = await given();
    await it.add(
      aVolume({ name: 'foreign', handle: 'foreign', spec: { claimRef: { namespace: 'other', name: 'data' } } }),
    );
    await it.reportGroup({ ...cut, volumeSnapshotInfoList: [{ volumeHandle: 'foreign', snapshotHandle: 's' }] });
    const { snapshot } = memberNamesOf('uid-of-group', 'foreign');
    expect(snapshotNamed(it, snapshot)?.spec?.source?.persistentVolumeClaimName).toBe('');
    await it.stop();
  });

  it('[P22] given a PersistentVolume without a claim, then the member has no claim', async () => {
    const it = await given();
    const { claimRef: _, ...spec } = aVolume({ handle: 'free' }).spec ?? {};
    const free: PersistentVolume = { ...aVolume({ name: 'free' }), spec };
    await it.add(free);
    await it.reportGroup({ ...cut, volumeSnapshotInfoList: [{ volumeHandle: 'free', snapshotHandle: 's' }] });
    const { snapshot } = memberNamesOf('uid-of-group', 'free');
    expect(snapshotNamed(it, snapshot)?.spec?.source?.persistentVolumeClaimName).toBe('');
    await it.stop();
  });

  it('[snapshot-controller#156] [P14] given a secret template that names the group, then members have the secret of the content', async () => {
    const parameters = {
      'csi.storage.k8s.io/group-snapshotter-secret-name': '${volumegroupsnapshot.name}-secret',
      'csi.storage.k8s.io/group-snapshotter-secret-namespace': 'ns',
    };
    const it = await given(aGroup(), { seed: [...cluster, aGroupClass('group-gold', { parameters })] });
    await it.reportGroup(cut);
    expect(it.content(first.content)?.metadata?.annotations).toMatchObject({
      [snapshotAnnotations.deletionSecretName]: 'group-secret',
      [snapshotAnnotations.deletionSecretNamespace]: 'ns',
    });
    await it.stop();
  });

  it.each([
    'create volumesnapshots',
    'create volumesnapshotcontents',
    'patch volumesnapshots/status',
    'patch volumesnapshotcontents/status',
  ])(
    '[snapshot-controller#153, 157] given that %s fails, then the run ends without a status, and the next one completes the members',
    async (what) => {
      const it = await given();
      it.fault(what, forbidden);
      await it.reportGroup(cut);
      expect(there(it.group()?.status).error).toBeUndefined();
      await it.clock.advance(5_000);
      expect(it.content(second.content)?.status?.snapshotHandle).toBe('s2');
      expect(snapshotNamed(it, second.snapshot)?.status?.boundVolumeSnapshotContentName).toBe(second.content);
      expect(it.group()?.status?.readyToUse).toBe(true);
      await it.stop();
    },
  );

  it.each(['patch volumesnapshots/status', 'patch volumesnapshotcontents/status'])(
    'given a conflict at %s, then the members are completed in the same run',
    async (what) => {
      const it = await given();
      it.fault(what, conflict);
      await it.reportGroup(cut);
      await it.clock.advance(100);
      expect(snapshotNamed(it, first.snapshot)?.status?.boundVolumeSnapshotContentName).toBe(first.content);
      expect(it.content(first.content)?.status?.snapshotHandle).toBe('s1');
      expect(it.group()?.status?.readyToUse).toBe(true);
      expect(it.logger.lines.filter(({ message }) => message === 'Reconcile failed, will retry')).toEqual([]);
      await it.stop();
    },
  );

  it.each(['create volumesnapshots', 'create volumesnapshotcontents'])(
    '[snapshot-controller#153] given that %s finds the object there already, then that one is used in the same run',
    async (what) => {
      const it = await given();
      it.fault(what, { kind: 'status', point: 'after', code: 409, reason: 'AlreadyExists' });
      await it.reportGroup(cut);
      expect(it.content(first.content)?.status?.snapshotHandle).toBe('s1');
      expect(snapshotNamed(it, first.snapshot)?.status?.boundVolumeSnapshotContentName).toBe(first.content);
      expect(it.group()?.status?.readyToUse).toBe(true);
      expect(it.logger.lines.filter(({ message }) => message === 'Reconcile failed, will retry')).toEqual([]);
      await it.stop();
    },
  );

  it.each([
    { what: 'snapshot', resource: volumeSnapshots, ref: { namespace: 'team', name: first.snapshot } },
    { what: 'content', resource: volumeSnapshotContents, ref: { name: first.content } },
  ])(
    '[snapshot-controller#157] given a $what that vanishes before its status is written, then the next run makes it again',
    async ({ resource, ref }) => {
      const it = await given();
      let isDone = false;
      const vanishes: FaultRule['when'] = ({ verb, resource: at, subresource }) => {
        if (isDone || `${verb} ${at}/${subresource}` !== `patch ${resource.plural}/status`) return false;
        isDone = true;
        it.server.objects.remove(resource, ref);
        return false;
      };
      it.faults.push({ when: vanishes, fault: forbidden });
      await it.reportGroup(cut);
      expect(it.group()?.status).toMatchObject({ readyToUse: false });
      await it.clock.advance(5_000);
      expect(it.content(first.content)).toMatchObject({
        spec: { volumeSnapshotRef: { uid: snapshotNamed(it, first.snapshot)?.metadata?.uid } },
        status: { snapshotHandle: 's1', volumeGroupSnapshotHandle: 'g1' },
      });
      expect(snapshotNamed(it, first.snapshot)?.status?.boundVolumeSnapshotContentName).toBe(first.content);
      expect(it.group()?.status?.readyToUse).toBe(true);
      await it.stop();
    },
  );

  it('[snapshot-controller#153] given members that an older release began, without UID and status, then they are completed', async () => {
    const it = await given();
    await it.add({
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotContent',
      metadata: { name: first.content, annotations: { [snapshotAnnotations.groupHandle]: 'g1' } },
      spec: {
        deletionPolicy: 'Delete',
        driver: 'd.example.com',
        source: { volumeHandle: 'handle-1' },
        volumeSnapshotRef: { kind: 'VolumeSnapshot', name: first.snapshot, namespace: 'team' },
      },
    } as KubeObject);
    await it.reportGroup(cut);
    expect(it.content(first.content)?.spec?.volumeSnapshotRef?.uid).toBe(
      snapshotNamed(it, first.snapshot)?.metadata?.uid,
    );
    expect(it.content(first.content)?.status?.snapshotHandle).toBe('s1');
    await it.stop();
  });

  it('[snapshot-controller#154] given a snapshot of the name that belongs to no group, then it is not taken over', async () => {
    const it = await given();
    await it.add({
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: { name: first.snapshot, namespace: 'team' },
      spec: { source: { persistentVolumeClaimName: 'none' }, volumeSnapshotClassName: 'none' },
    } as KubeObject);
    await it.reportGroup(cut);
    expect(it.content(first.content)).toBeUndefined();
    expect(it.group()?.status?.readyToUse).toBe(false);
    await it.stop();
  });

  it('[snapshot-controller#154] given a content of the name that belongs to another snapshot, then it is not taken over', async () => {
    const it = await given();
    const foreign = aContent({
      of: aSnapshot({ name: 'foreign' }),
      name: first.content,
      spec: { volumeSnapshotClassName: 'x' },
    });
    await it.add(foreign);
    await it.reportGroup(cut);
    expect(it.content(first.content)).toMatchObject(foreign);
    expect(there(it.content(first.content)).status).toBeUndefined();
    expect(it.group()?.status?.readyToUse).toBe(false);
    await it.stop();
  });

  it('[snapshot-controller#159, 160] given a member that is not ready, then it has no bound finalizer, and keeps the claim of another snapshot protected', async () => {
    const it = await given();
    await it.reportGroup({
      ...cut,
      readyToUse: false,
      volumeSnapshotInfoList: [{ volumeHandle: 'handle-1', snapshotHandle: 's1', readyToUse: false }],
    });
    expect(snapshotNamed(it, first.snapshot)?.metadata?.finalizers).toEqual([finalizers.inGroup, finalizers.asSource]);
    await it.add(aClass(), aSnapshot());
    await it.report({ readyToUse: true });
    expect(it.claim()?.metadata?.finalizers).toEqual([finalizers.claim]);
    await it.report({ snapshotHandle: 's1', volumeGroupSnapshotHandle: 'g1', readyToUse: true }, first.content);
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    await it.stop();
  });
});

describe('the status of a group', () => {
  it('[snapshot-controller#147] [P9] given a content that is not ready, then the group is not, and follows at once', async () => {
    const it = await given();
    await it.reportGroup({ ...cut, readyToUse: false });
    expect(it.group()?.status).toEqual({ ...bound, creationTime: cut.creationTime });
    await it.reportGroup(cut);
    expect(it.group()?.status?.readyToUse).toBe(true);
    await it.stop();
  });

  it('given an error of the content, then the group shows it, and loses it with it', async () => {
    const it = await given();
    const error = { time: '2026-01-01T00:00:00Z', message: 'no' };
    await it.reportGroup({ error });
    expect(it.group()?.status).toEqual({ ...bound, error });
    await it.reportGroup({});
    expect(it.group()?.status).toEqual(bound);
    await it.stop();
  });

  it('[P1] given a ready group, when the controller starts again, then nothing flaps', async () => {
    const it = await given();
    await it.reportGroup(cut);
    const [status, { length }] = [it.group()?.status, it.writes()];
    const again = await aController({ cluster: it.crash() });
    expect([again.group()?.status, again.events]).toEqual([status, []]);
    expect(again.writes().length).toBe(length);
    await again.stop();
  });

  it('[P1] given a ready group, when the controller starts again and learns of its content late, then nothing flaps', async () => {
    const it = await given();
    await it.reportGroup(cut);
    const [status, { length }] = [it.group()?.status, it.writes()];
    const cluster = it.crash();
    cluster.faults.push({
      when: ({ verb, resource }) => verb === 'watch' && resource === 'volumegroupsnapshotcontents',
      fault: { kind: 'lag', ms: 5_000 },
    });
    const again = await aController({ cluster });
    await again.clock.advance(60_000);
    expect([again.group()?.status, again.events]).toEqual([status, []]);
    expect(again.writes().length).toBe(length);
    await again.stop();
  });

  it('[P1] given a snapshot of the name of a group, when the controller starts again and the snapshot is deleted, then the group stays as it is', async () => {
    const twin = aSnapshot({ name: 'group', uid: 'uid-of-twin' });
    const it = await given(aGroup(), { seed: [...cluster, aGroupClass(), aClass(), twin] });
    await it.reportGroup(cut);
    await it.report({ readyToUse: true, snapshotHandle: 's' }, 'snapcontent-uid-of-twin');
    const status = it.group()?.status;
    const again = await aController({ cluster: it.crash() });
    expect(again.snapshot('group')?.status?.readyToUse).toBe(true);
    await again.remove(volumeSnapshots, { namespace: 'team', name: 'group' });
    await again.letGo('snapcontent-uid-of-twin');
    expect([again.snapshot('group'), again.group()?.status, again.events]).toEqual([undefined, status, []]);
    expect(there(again.groupContent()).metadata?.deletionTimestamp).toBeUndefined();
    await again.stop();
  });

  it('given a status that cannot be written, then the group says so', async () => {
    const it = await given();
    it.fault('patch volumegroupsnapshots/status', forbidden);
    await it.reportGroup(cut);
    expect(warnings(it)[0]).toMatch(
      /^Warning GroupSnapshotStatusUpdateFailed team\/group: GroupSnapshot status update failed, ./,
    );
    await it.clock.advance(5_000);
    expect(it.group()?.status).toMatchObject({ readyToUse: true });
    expect(failure(it)).toBeUndefined();
    await it.stop();
  });

  it('given a status that is written although its answer is lost, then it is reported once', async () => {
    const it = await given();
    it.fault('patch volumegroupsnapshots/status', { kind: 'break', point: 'after', failure: 'reset' });
    await it.reportGroup(cut);
    await it.clock.advance(5_000);
    const reasons = it.events.map((line) => line.split(' ')[1]).filter((reason) => reason?.startsWith('GroupSnapshot'));
    expect(reasons).toEqual(['GroupSnapshotCreated', 'GroupSnapshotReady']);
    await it.stop();
  });

  it.each([
    { given: 'stays', more: {}, reported: ['GroupSnapshotCreated', 'GroupSnapshotReady'] },
    { given: 'is deleted at once', more: { deletionTimestamp: '2026-01-01T00:00:00Z' }, reported: [] },
  ])(
    'given a group that another replica made ready, and that $given, then these events are recorded: $reported',
    async ({ more, reported }) => {
      const it = await given();
      await it.change(volumeGroupSnapshots, { namespace: 'team', name: 'group' }, ({ metadata, ...group }) => ({
        ...group,
        metadata: { ...metadata, ...more },
        status: { ...bound, creationTime: cut.creationTime, readyToUse: true },
      }));
      expect(it.events.map((line) => line.split(' ')[1])).toEqual(['CreatingGroupSnapshot', ...reported]);
      await it.stop();
    },
  );

  it('given a group that goes while its status is written, then there is no event', async () => {
    const it = await given();
    it.fault('patch volumegroupsnapshots/status', { kind: 'delay', ms: 1_000 });
    await it.reportGroup({ readyToUse: false, error: { message: 'x' } });
    await it.vanish(volumeGroupSnapshots, { namespace: 'team', name: 'group' });
    await it.clock.advance(2_000);
    expect(warnings(it)).toEqual([]);
    await it.stop();
  });
});
