// SPDX-License-Identifier: Apache-2.0
/** The command as a person runs it: what it prints, what it writes, and how it ends. */
import { csiStorageCapacities, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aNode, aVolume, driverName } from '../../testing/builders.ts';
import { aCapacity, capacitiesOf, finalizersOf, removing, runLeftoversOn } from '../../testing/leftovers-fixture.ts';
import { aClone, aContent, aDyingClaim, aRestore, aSnapshot, boundFinalizer } from '../../testing/source-builders.ts';
import {
  annotations,
  cloningProtection,
  instanceAnnotation,
  provisioningFinalizer,
  unnamedProvisioningFinalizer,
} from '../names.ts';

const ours = provisioningFinalizer(driverName);
const user = 'example.com/user';
/** A claim whose volume may exist, and which a user has deleted. */
const stuck = aClaim({ name: 'stuck', finalizers: [user, ours], deleting: 'yes' });
const recorded = aClaim({ name: 'recorded', finalizers: [user, ours] });
const record = aVolume({ name: 'pvc-uid-recorded', phase: 'Bound', spec: { claimRef: { uid: 'uid-recorded' } } });
const kept = aVolume({
  name: 'kept',
  policy: 'Retain',
  finalizers: [user, 'external-provisioner.volume.kubernetes.io/finalizer'],
});

interface Item {
  readonly name: string;
  readonly left: string | null;
  readonly row: string;
  readonly verdict: string;
  readonly volume: string | null;
  readonly result?: string;
}

async function listed(
  seed: NonNullable<Parameters<typeof runLeftoversOn>[0]>['seed'],
  ...args: readonly string[]
): Promise<readonly string[]> {
  const { code, printed, writes } = await runLeftoversOn({
    seed: seed ?? [],
    args: ['--output=json', '--all', ...args],
  });
  expect([code, writes]).toEqual([0, []]);
  const { items } = JSON.parse(printed) as { readonly items: readonly Item[] };
  return items.map(({ name, row, verdict, volume }) => [name, row, verdict, volume].filter(Boolean).join(' '));
}

describe('the list', () => {
  it('given nothing is left, then one line says so, and nothing is written', async () => {
    const { code, printed, writes } = await runLeftoversOn({ seed: [aClaim(), aVolume({ finalizers: [] })] });
    expect([code, printed, writes]).toEqual([0, 'Nothing is left.\n', []]);
  });

  it('given a claim whose volume may exist, then the table names the volume, the driver and the reason', async () => {
    const { printed } = await runLeftoversOn({ seed: [stuck] });
    const [header = '', line = '', summary] = printed.split('\n');
    expect(header.split(/ {2,}/)).toEqual([
      'KIND',
      'NAMESPACE',
      'NAME',
      'LEFT',
      'DRIVER',
      'REMOVABLE',
      'VOLUME',
      'ROW',
      'REASON',
    ]);
    expect(line.split(/ {2,}/)).toEqual([
      'PersistentVolumeClaim',
      'team',
      'stuck',
      ours,
      driverName,
      'with --include-unsettled',
      'pvc-uid-stuck',
      'U3',
      'the claim is being deleted; volume pvc-uid-stuck may exist and no PersistentVolume records it',
    ]);
    expect(summary).toBe(
      '0 can be removed without loss, 1 may be the only record of a volume, 0 cannot be removed by this command.',
    );
  });

  it.each([
    ['records it', record, 'recorded U1 safe'],
    ['has the name but another claim', aVolume({ name: 'pvc-uid-recorded' }), 'recorded U4 unsettled pvc-uid-recorded'],
    [
      'is being deleted',
      { ...record, metadata: { ...record.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
      'recorded U4 unsettled pvc-uid-recorded',
    ],
    [
      'is of another driver',
      { ...record, metadata: { ...record.metadata, annotations: { [annotations.provisionedBy]: 'other' } } },
      'recorded U4 unsettled pvc-uid-recorded',
    ],
  ])('given a claim and a PersistentVolume that %s, then the claim is decided by it', async (_what, volume, line) => {
    expect(await listed([recorded, volume])).toContain(line);
  });

  it('given names with a prefix and a length, then the record is found by that name', async () => {
    const claim = aClaim({ name: 'recorded', uid: 'aaaa-bbbb-cccc', finalizers: [ours] });
    const volume = aVolume({ name: 'vol-aaaabb', phase: 'Bound', spec: { claimRef: { uid: 'aaaa-bbbb-cccc' } } });
    const flags = ['--volume-name-prefix=vol', '--volume-name-uuid-length=6'];
    expect(await listed([claim, volume], ...flags)).toContain('recorded U1 safe');
    expect(await listed([claim, volume])).toContain('recorded U4 unsettled pvc-aaaa-bbbb-cccc');
  });

  it('given the finalizer of version 0.1, then it belongs to the driver that the claim asks for', async () => {
    const old = [unnamedProvisioningFinalizer];
    const mine = aClaim({ name: 'mine', finalizers: old });
    const others = aClaim({
      name: 'others',
      finalizers: old,
      annotations: { [annotations.storageProvisioner]: 'other' },
    });
    const migrated = aClaim({
      name: 'migrated',
      finalizers: old,
      annotations: { [annotations.storageProvisioner]: 'kubernetes.io/x', [annotations.migratedTo]: driverName },
    });
    expect(await listed([mine, others, migrated], `--driver=${driverName}`)).toEqual([
      'migrated U4 unsettled pvc-uid-migrated',
      'mine U4 unsettled pvc-uid-mine',
    ]);
    expect(await listed([mine, others])).toHaveLength(2);
  });

  it('given the annotation of an instance, then the claim says whether its node is there', async () => {
    const [n1] = aNode('n1');
    const on = (name: string, node: string, finalizers: readonly string[] = [ours]) =>
      aClaim({ name, finalizers, annotations: { [instanceAnnotation(driverName)]: node } });
    expect(await listed([n1, on('a', 'n1'), on('b', 'n2'), on('c', 'n2', [])])).toEqual([
      'a U4 unsettled pvc-uid-a',
      'b U2 unsettled pvc-uid-b',
      'c U5 safe',
    ]);
  });

  it('given sources, then one is needed while a claim of any namespace is pending, and is of the driver of its content', async () => {
    const seed = [
      aSnapshot({ name: 'daily' }),
      aContent({ snapshot: 'daily' }),
      aSnapshot({ name: 'needed', deleting: 'yes' }),
      aContent({ snapshot: 'needed' }),
      aRestore({ source: { name: 'needed' } }),
      aSnapshot({ name: 'others' }),
      aContent({ snapshot: 'others', driver: 'other' }),
      aSnapshot({ name: 'lost' }),
      aDyingClaim({ name: 'cloned' }),
    ];
    expect(await listed(seed, `--driver=${driverName}`)).toEqual([
      'cloned U8 safe',
      'daily U8 safe',
      'lost U7 manual',
      'needed U6 manual',
    ]);
  });

  it('given a clone, then its source is free once the clone is bound and has no finalizer of ours', async () => {
    const source = aDyingClaim();
    const bound = { phase: 'Bound' } as const;
    expect(await listed([source, aClone()])).toContain('original U6 manual');
    expect(await listed([source, aClone({ ...bound, protection: 'on' })])).toContain('original U6 manual');
    expect(await listed([source, aClone(bound)])).toContain('original U8 safe');
  });

  it('given PersistentVolumes, then policy, phase and the nodes that can reach them decide', async () => {
    const [n1] = aNode('n1', 'a');
    const at = (zone: string) => ({
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] }] },
      },
    });
    const dying = aVolume({ name: 'dying', policy: 'Retain', deleting: 'yes' });
    const away = aVolume({ name: 'away', policy: 'Retain', spec: at('b') });
    const here = aVolume({ name: 'here', policy: 'Retain', spec: at('a') });
    const bound = aVolume({ name: 'bound', phase: 'Bound' });
    const { printed } = await runLeftoversOn({ seed: [n1, dying, away, here, bound, aVolume({ name: 'released' })] });
    const reasons = printed.split('\n').map((line) => line.split(/ {2,}/).slice(1));
    const shown = reasons.flatMap(([name, , , removable, ...rest]) =>
      name === undefined ? [] : [[name, removable, rest.at(-1)]],
    );
    expect(shown).toEqual([
      ['NAMESPACE', 'DRIVER', 'REASON'],
      ['away', 'yes', 'policy Retain keeps the volume without the finalizer; no node can reach it'],
      [
        'dying',
        'with --include-unsettled',
        'the object is being deleted and is the only record of volume handle-of-dying, which policy Retain keeps',
      ],
      ['here', 'yes', 'policy Retain keeps the volume without the finalizer'],
      ['released', 'no', 'volume handle-of-released is to be deleted: run a provisioner, or set the policy to Retain'],
    ]);
    expect(printed).toContain('1 in use (--all shows them).');
  });

  it('given capacity objects, then those without an owner and a driver, and those of gone nodes, are left', async () => {
    const [n1, registered] = aNode('n1');
    const seed = [
      n1,
      { ...aNode('n3')[1], spec: { drivers: null as never } },
      aCapacity({ name: 'central' }),
      aCapacity({ name: 'owned', owned: 'yes' }),
      aCapacity({ name: 'of-n1', managedBy: 'external-provisioner-n1' }),
      aCapacity({ name: 'of-n2', managedBy: 'external-provisioner-n2', owned: 'yes' }),
      aCapacity({ name: 'foreign', managedBy: 'something' }),
    ];
    const left = ['central U14 safe', 'foreign U13 inUse', 'of-n1 U14 safe', 'of-n2 U14 safe', 'owned U13 inUse'];
    expect(await listed(seed)).toEqual(left);
    const installed = left.map((line) =>
      /^(central|of-n1)/.test(line) ? line.replace('U14 safe', 'U13 inUse') : line,
    );
    expect(await listed([...seed, registered])).toEqual(installed);
  });

  it('given more objects than a page holds, then all are found', async () => {
    const claims = Array.from({ length: 1201 }, (_, index) => aClaim({ name: `c-${index}`, finalizers: [ours] }));
    expect(await listed(claims)).toHaveLength(1201);
  });

  it('given a cluster without the snapshot kinds, then the rest is listed', async () => {
    const { code, printed } = await runLeftoversOn({ seed: [stuck], snapshotKinds: 'missing' });
    expect([code, printed.includes('pvc-uid-stuck')]).toEqual([0, true]);
  });

  it('given a kind that may not be listed, then the command ends with 1 and a line that names it', async () => {
    const { code, logged, printed } = await runLeftoversOn({ rules: [] });
    expect([code, printed]).toEqual([1, '']);
    expect(logged).toContain('Failed to list what is left');
    expect(logged).toContain('cannot list volumesnapshots: ');
  });

  it('given a handle with control characters, then none reaches the terminal', async () => {
    const volume = aVolume({ name: 'odd', spec: { csi: { driver: driverName, volumeHandle: 'a\u001B[2Jb\n' } } });
    const { printed } = await runLeftoversOn({ seed: [volume] });
    expect(printed).toContain('a?[2Jb?');
    // The two line breaks of the table and that of the summary.
    expect(printed.match(/\p{Cc}/gu)).toEqual(['\n', '\n', '\n']);
  });
});

describe('command lines that are refused', () => {
  it.each([
    [['--remove'], 1, '--remove needs --driver'],
    [['--include-unsettled'], 1, '--include-unsettled needs --remove'],
    [['--yes'], 1, '--yes needs --remove'],
    [['--output=yaml'], 1, '--output must be table or json'],
    [[...removing, '--output=json'], 1, '--remove with --output=json needs --yes'],
    [['--volume-name-prefix='], 1, 'volume name prefix cannot be of length 0'],
    [['--no-such-flag'], 2, 'unknown flag: --no-such-flag'],
  ] as const)('given %o, then nothing is read', async (args, code, text) => {
    const run = await runLeftoversOn({ args, seed: [stuck] });
    expect([run.code, run.host.server.requests]).toEqual([code, []]);
    expect(run.logged).toContain(text);
  });
});

describe('the removal', () => {
  it('given --yes, then what is safe is removed, what may lose a volume stays, and finalizers of others stay', async () => {
    const seed = [stuck, recorded, record, kept, aSnapshot(), aContent(), aCapacity()];
    const run = await runLeftoversOn({ args: [...removing, '--yes'], seed });
    expect([run.code, run.writes]).toEqual([
      0,
      [
        'patch persistentvolumeclaims team/recorded 200',
        'patch volumesnapshots team/daily 200',
        'patch persistentvolumes kept 200',
        'delete csistoragecapacities storage/csisc-1 200',
      ],
    ]);
    expect(finalizersOf(run.host, 'claim', 'recorded')).toEqual([user]);
    expect(finalizersOf(run.host, 'claim', 'stuck')).toEqual([user, ours]);
    expect(finalizersOf(run.host, 'volume', 'kept')).toEqual([user]);
    expect(finalizersOf(run.host, 'snapshot', 'daily')).toEqual([boundFinalizer]);
    expect(capacitiesOf(run.host)).toEqual([]);
    expect(run.printed).toContain(`Removed ${ours} of PersistentVolumeClaim team/recorded\n`);
    expect(run.printed).toContain('Removed CSIStorageCapacity storage/csisc-1\n');

    const again = await runLeftoversOn({ args: [...removing, '--yes'], host: run.host });
    expect([again.code, again.writes]).toEqual([0, []]);
  });

  it('given --include-unsettled, then the volume that may be lost is named', async () => {
    const run = await runLeftoversOn({ args: [...removing, '--yes', '--include-unsettled'], seed: [stuck] });
    expect([run.code, run.writes]).toEqual([0, ['patch persistentvolumeclaims team/stuck 200']]);
    expect(run.printed).toContain(
      `Removed ${ours} of PersistentVolumeClaim team/stuck; volume pvc-uid-stuck may exist in the storage system: look for it\n`,
    );
  });

  it('given a volume that waits to be deleted, then it is never touched', async () => {
    const seed = [aVolume({ name: 'released' }), aVolume({ name: 'dying', deleting: 'yes', phase: 'Bound' })];
    const run = await runLeftoversOn({ args: [...removing, '--yes', '--include-unsettled'], seed });
    expect([run.code, run.writes]).toEqual([0, []]);
  });

  it('given objects of another driver, then they are neither shown nor touched', async () => {
    const claim = aClaim({ finalizers: [provisioningFinalizer('other')] });
    const volume = aVolume({ name: 'v', policy: 'Retain', annotations: { [annotations.provisionedBy]: 'other' } });
    const run = await runLeftoversOn({ args: [...removing, '--yes', '--include-unsettled'], seed: [claim, volume] });
    expect([run.printed, run.writes]).toEqual(['Nothing is left.\n', []]);
  });

  it('given the annotation beside the finalizer, then both go in one write', async () => {
    const key = instanceAnnotation(driverName);
    const claim = aClaim({ finalizers: [ours], annotations: { [key]: 'n1', kept: 'yes' } });
    const run = await runLeftoversOn({ args: [...removing, '--yes', '--include-unsettled'], seed: [claim] });
    const left = run.host.server.objects.get(persistentVolumeClaims, { namespace: 'team', name: 'data' });
    expect([run.writes.length, left?.metadata?.annotations, left?.metadata?.finalizers ?? []]).toEqual([
      1,
      { kept: 'yes' },
      [],
    ]);
  });

  it('given no terminal and no --yes, then nothing is removed and the command ends with 1', async () => {
    const run = await runLeftoversOn({ args: removing, seed: [kept] });
    expect([run.code, run.writes]).toEqual([1, []]);
    expect(run.logged).toContain('Nothing was removed: confirm with --yes where there is no terminal');
  });

  it.each([
    { what: 'another word', typed: 'yes', code: 1, writes: 0 },
    { what: 'an empty line', typed: '', code: 1, writes: 0 },
    { what: 'the name of the driver', typed: ` ${driverName}\n`, code: 0, writes: 1 },
  ])('given a person who types $what, then that decides', async ({ typed, code, writes }) => {
    const run = await runLeftoversOn({ args: removing, seed: [kept], typed });
    expect([run.code, run.writes.length]).toEqual([code, writes]);
  });

  it('given nothing that may be removed, then no confirmation is asked for', async () => {
    const run = await runLeftoversOn({ args: removing, seed: [stuck] });
    expect([run.code, run.writes]).toEqual([0, []]);
  });

  it('given the cluster changes while the person reads, then only what is still safe is removed', async () => {
    const seed = [kept, recorded, record, aVolume({ name: 'second', policy: 'Retain' }), aCapacity()];
    const run = await runLeftoversOn({
      args: removing,
      seed,
      typed: driverName,
      meanwhile: ({ server }) => {
        server.objects.change(persistentVolumes, { name: 'kept' }, (volume) => ({
          ...volume,
          spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Delete' },
        }));
        server.objects.remove(persistentVolumes, { name: 'pvc-uid-recorded' });
        server.objects.remove(csiStorageCapacities, { namespace: 'storage', name: 'csisc-1' });
        server.seed(aVolume({ name: 'new', policy: 'Retain' }));
      },
    });
    expect([run.code, run.writes]).toEqual([0, ['patch persistentvolumes second 200']]);
    expect(run.printed).toContain(
      'Kept: external-provisioner.volume.kubernetes.io/finalizer of PersistentVolume kept: ',
    );
    expect(run.printed).toContain(
      `Kept: ${ours} of PersistentVolumeClaim team/recorded: volume pvc-uid-recorded may exist`,
    );
    expect(run.printed).toContain('Already gone: CSIStorageCapacity storage/csisc-1\n');
    expect(finalizersOf(run.host, 'volume', 'new')).toHaveLength(2);
  });

  it('given a source that a claim begins to use while the person reads, then its finalizer stays', async () => {
    const run = await runLeftoversOn({
      args: removing,
      seed: [aDyingClaim()],
      typed: driverName,
      meanwhile: ({ server }) => void server.seed(aClone()),
    });
    expect([run.writes, finalizersOf(run.host, 'claim', 'original')]).toEqual([[], [cloningProtection]]);
  });

  it('given --output=json, then one document says what became of each entry', async () => {
    const run = await runLeftoversOn({ args: [...removing, '--yes', '--output=json'], seed: [stuck, kept] });
    const { items } = JSON.parse(run.printed) as { readonly items: readonly Item[] };
    expect(items.map(({ name, row, result }) => [name, row, result])).toEqual([['kept', 'U9', 'removed']]);
  });

  it('given writes that are forbidden, then each is reported, and the command ends with 1', async () => {
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['list'] }];
    const run = await runLeftoversOn({ args: [...removing, '--yes'], seed: [kept, aCapacity()], rules });
    expect([run.code, run.writes]).toEqual([
      1,
      ['patch persistentvolumes kept 403', 'delete csistoragecapacities storage/csisc-1 403'],
    ]);
    expect(run.printed.match(/^Failed: /gm)).toHaveLength(2);
  });
});
