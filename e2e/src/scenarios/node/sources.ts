// SPDX-License-Identifier: Apache-2.0
/** M-07 to M-09: what pods on a real kubelet wrote is in clones and restores of it, what they wrote later is not, and both grow. */
import assert from 'node:assert/strict';
import { type PersistentVolumeClaim, type StorageClass, volumeAttachments } from '@csi-sidecars/runtime';
import { deployAll, deploySnapshotController } from '../../deployment/deploy.ts';
import { claimed, type UserPod } from '../../workload/user-pods.ts';
import type { ScenarioContext } from '../context.ts';
import { endPod } from '../pod-life.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import { ask, expandCalls, gib, nodeExpandCalls, sizesOf, untilSize } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  fromSnapshot,
  installDefinitions,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';
import { reads, startUser, untilSaid, writes } from './user-steps.ts';

type ClaimSpec = Partial<NonNullable<PersistentVolumeClaim['spec']>>;

const fromClaim: ClaimSpec = { dataSource: { kind: 'PersistentVolumeClaim', name: 'claim' } };
const restored: ClaimSpec = fromSnapshot('snap');
const sized = (storage: string): ClaimSpec => ({ resources: { requests: { storage } } });

interface Kind {
  readonly storageClass: Partial<StorageClass>;
  readonly spec: ClaimSpec;
  readonly as: NonNullable<UserPod['as']>;
  readonly file: string;
  /** Lines of a script that change the volume after the copies were taken. */
  readonly later: readonly string[];
  /** Lines that fail if the later change is there, and say the size. */
  readonly checks: readonly string[];
  /** A file system needs some of the size itself. */
  readonly ownBytes: bigint;
}

const fileSystem: Kind = {
  storageClass: { parameters: { layout: 'filesystem', 'csi.storage.k8s.io/fstype': 'ext4' } },
  spec: {},
  as: 'folder',
  file: '/data/file',
  later: ['echo later > /data/later', 'sync /data/later'],
  checks: ['test ! -e /data/later', `echo "bytes $(stat -f -c '%b * %S' /data)"`],
  ownBytes: gib / 8n,
};

const block: Kind = {
  storageClass: {},
  spec: { volumeMode: 'Block' },
  as: 'device',
  file: '/dev/data',
  later: ['dd if=/dev/zero of=/dev/data bs=1M count=1 conv=notrunc,fsync'],
  checks: ['echo "bytes $(blockdev --getsize64 /dev/data) * 1"'],
  ownBytes: 0n,
};

export const nodeSources: readonly Scenario[] = [
  {
    id: 'M-07',
    title:
      'file systems: clones and restores, equal and larger, hold what a pod wrote before and not what was written later',
    needs: ['kubelet'],
    exclusive: ['snapshot-controller'],
    run: (ctx) => copy(ctx, fileSystem),
  },
  {
    id: 'M-08',
    title:
      'block volumes: clones and restores, equal and larger, hold what a pod wrote before and not what was written later',
    needs: ['kubelet'],
    exclusive: ['snapshot-controller'],
    run: (ctx) => copy(ctx, block),
  },
  {
    id: 'M-09',
    title: 'a restored and a cloned file system grow under their pods: each once, and their data is intact',
    needs: ['kubelet'],
    exclusive: ['snapshot-controller'],
    run: growCopies,
  },
];

async function copy(
  ctx: ScenarioContext,
  { storageClass, spec, as, file, later, checks, ownBytes }: Kind,
): Promise<void> {
  await installDefinitions(ctx);
  await deployAll(ctx, { controllers: ['csi-provisioner', 'csi-attacher', 'csi-snapshotter'] });
  await deploySnapshotController(ctx);
  const className = await createClass(ctx, storageClass);
  const run = async (
    claim: string,
    script: readonly string[],
    words: readonly string[],
  ): Promise<readonly string[]> => {
    const name = `on-${claim}-${script.length}`;
    await startUser(ctx, { name, volume: claimed(claim), as, script });
    const said: string[] = [];
    for (const word of words) said.push(await untilSaid(ctx, name, word));
    await endPod(ctx, name);
    // A driver that copies a volume refuses to detach it. A pod that comes then makes the attach/detach controller wait for two minutes for the
    // attachment that is being deleted.
    await ctx.eventually('the volume is detached', async () => {
      const { items } = await ctx.api.list(volumeAttachments);
      return items.every(({ spec }) => spec.attacher !== ctx.driverName);
    });
    return said;
  };

  await createClaim(ctx, className, { spec: { ...spec, ...sized('1Gi') } });
  const [written] = await run('claim', writes(file), ['sum']);
  await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
  await untilReady(ctx);
  const copies = [
    { name: 'clone', source: fromClaim, storage: '1Gi' },
    { name: 'larger-clone', source: fromClaim, storage: '2Gi' },
    { name: 'restore', source: restored, storage: '1Gi' },
    { name: 'larger-restore', source: restored, storage: '2Gi' },
  ] as const;
  const make = async ({ name, source, storage }: (typeof copies)[number]): Promise<void> => {
    await createClaim(ctx, className, { name, spec: { ...spec, ...source, ...sized(storage) } });
    await untilBound(ctx, name);
  };
  for (const each of copies.filter(({ source }) => source === fromClaim)) await make(each);
  await run('claim', [...later, 'echo "changed yes"'], ['changed']);
  for (const each of copies.filter(({ source }) => source === restored)) await make(each);

  for (const { name, storage } of copies) {
    const [read, size = ''] = await run(name, [...checks, ...reads(file)], ['sum', 'bytes']);
    assert.equal(read, written, `${name} has other data`);
    const [units = '0', unit = '0'] = size.split(' * ');
    const wanted = BigInt(storage.slice(0, 1)) * gib;
    assert.ok(BigInt(units) * BigInt(unit) >= wanted - ownBytes, `${name} has ${size} bytes, not ${storage}`);
    ctx.note(`${name}, ${storage}: equal, of the right size, and nothing of later`);
  }
  await deleteSnapshot(ctx);
  await untilNoSnapshots(ctx);
}

/** Grows while it is mounted, without a capability that sandboxes drop. */
const growing = {
  parameters: { layout: 'filesystem', 'csi.storage.k8s.io/fstype': 'xfs' },
  allowVolumeExpansion: true,
};

async function growCopies(ctx: ScenarioContext): Promise<void> {
  await installDefinitions(ctx);
  await deployAll(ctx, { controllers: ['csi-provisioner', 'csi-attacher', 'csi-snapshotter', 'csi-resizer'] });
  await deploySnapshotController(ctx);
  const className = await createClass(ctx, growing);
  const { file, ownBytes } = fileSystem;
  await createClaim(ctx, className, { spec: sized('1Gi') });
  await startUser(ctx, { name: 'writer', volume: claimed('claim'), script: writes(file) });
  const written = await untilSaid(ctx, 'writer', 'sum');
  await endPod(ctx, 'writer');
  await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
  await untilReady(ctx);

  const untilLarger = `until test $(($(stat -f -c '%b * %S' /data))) -gt ${gib}; do sleep 0.2; done`;
  const script = [
    ...reads(file),
    untilLarger,
    `echo "bytes $(($(stat -f -c '%b * %S' /data)))"`,
    ...reads(file).map((line) => line.replace('sum', 'again')),
  ];
  for (const [name, source] of [
    ['restore', restored],
    ['clone', fromClaim],
  ] as const) {
    await createClaim(ctx, className, { name, spec: { ...source, ...sized('1Gi') } });
    await startUser(ctx, { name: `on-${name}`, volume: claimed(name), script });
    assert.equal(await untilSaid(ctx, `on-${name}`, 'sum'), written);
    const { volume } = await untilBound(ctx, name);
    const handle = volume.spec?.csi?.volumeHandle;

    await ask(ctx, '2Gi', name);
    await untilSize(ctx, '2Gi', name);
    assert.ok(BigInt(await untilSaid(ctx, `on-${name}`, 'bytes')) >= 2n * gib - ownBytes);
    assert.equal(await untilSaid(ctx, `on-${name}`, 'again'), written);
    await endPod(ctx, `on-${name}`);
    const ofCopy = ({ request }: { readonly request: { readonly volume_id?: string } }): boolean =>
      request.volume_id === handle;
    assert.deepEqual(sizesOf((await expandCalls(ctx)).filter(ofCopy)), ['2Gi']);
    assert.equal((await nodeExpandCalls(ctx)).filter(ofCopy).length, 1);
  }
  await deleteSnapshot(ctx);
  await untilNoSnapshots(ctx);
}
