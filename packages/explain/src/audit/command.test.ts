// SPDX-License-Identifier: Apache-2.0
/** The command over a driver and a cluster: what it finds, how it ends, and which calls it makes. */
import { seededRandom } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { type Audited, audited, ended, type FindingJson, type Fixture, provisioned } from '../../testing/audit.ts';
import { add, ago, asked, attachment, claim, driver, namespace, podWith, requestsOf } from '../../testing/cluster.ts';
import { runAudit } from '../index.ts';

const rowsOf = ({ document }: Audited): readonly string[] =>
  document.findings.map(({ row, class: group, handle }) => `${row} ${group} ${handle}`).sort();
const first = ({ document }: Audited): FindingJson => {
  const [finding] = document.findings;
  if (finding === undefined) throw new Error('nothing was found');
  return finding;
};

/** Volumes `a`, `b`, ... that the cluster records. */
async function recorded(fixture: Fixture, ...names: readonly string[]): Promise<readonly string[]> {
  const handles = await fixture.make(...names);
  for (const [at, handle] of handles.entries()) fixture.record(names[at] ?? '', handle);
  return handles;
}

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const;

describe('volumes that no PersistentVolume names', () => {
  it('[explain#111] given 10 volumes and 8 PersistentVolumes, when listed once, then 2 are unconfirmed, and the exit code is 3; when confirmed, then they are unrecorded, and it is 4', async () => {
    const fixture = audited();
    await recorded(fixture, ...letters);
    const [left = '', other = ''] = await fixture.make('left', 'other');
    const once = await fixture.audit();
    expect([once.code, rowsOf(once), once.document.counts]).toEqual([
      3,
      [`O4 unconfirmed ${left}`, `O4 unconfirmed ${other}`].sort(),
      { unconfirmed: 2 },
    ]);
    const startedMs = fixture.host.clock.monotonicMs();
    const twice = await fixture.audit(['--confirm=1', '--grace=20m']);
    expect([twice.code, rowsOf(twice), twice.document.lists]).toEqual([
      4,
      [`O6 unrecorded ${left}`, `O6 unrecorded ${other}`].sort(),
      2,
    ]);
    expect(first(twice).sentence).toContain('another cluster may');
    expect(fixture.host.clock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(1_200_000);
  });

  it('given no difference, when it is to be confirmed, then it is not waited, and the exit code is 0', async () => {
    const fixture = audited();
    await recorded(fixture, 'a', 'b');
    const result = await fixture.audit(['--confirm=1']);
    expect([result.code, result.document.lists, result.document.counts]).toEqual([0, 1, {}]);
    expect(fixture.host.logged()).toBe('');
  });

  it('given a volume that is recorded before the second list, when it is confirmed, then nothing is left', async () => {
    const fixture = audited();
    await recorded(fixture, 'a', 'b');
    const [late = ''] = await fixture.make('late');
    const result = await fixture.audit(['--confirm=1'], () => fixture.record('late', late));
    expect([result.code, rowsOf(result)]).toEqual([0, []]);
  });

  it.each([
    ['that is pending', claim('new', { metadata: asked })],
    [
      'with the finalizer of csi-provisioner',
      claim('new', {
        metadata: { finalizers: [`provisioning-protection.provisioner.storage.kubernetes.io/${driver}`] },
        spec: { volumeName: 'x' },
      }),
    ],
  ])(
    '[explain#112] given a claim %s, when confirmed, then its volume may be it: young, and the exit code is 3',
    async (_, open) => {
      const fixture = audited();
      await recorded(fixture, 'a', 'b');
      await fixture.make('left');
      add(fixture.host, open);
      const result = await fixture.audit(['--confirm=1']);
      expect([result.code, first(result).row, first(result).class]).toEqual([3, 'O3', 'young']);
      expect(first(result).sentence).toContain(`claim ${namespace}/new`);
    },
  );

  it('given a volume whose PersistentVolume goes between two lists, when it is confirmed, then it is not', async () => {
    const fixture = audited();
    const [handle = ''] = await recorded(fixture, 'a', 'b');
    await fixture.make('left');
    const result = await fixture.audit(['--confirm=1'], () => fixture.remove('persistentvolumes', 'pv-a'));
    expect(rowsOf(result)).toContain(`O5 unconfirmed ${handle}`);
  });

  it('[explain#112] given a pending claim of another driver, when confirmed, then it does not count', async () => {
    const fixture = audited();
    await recorded(fixture, 'a', 'b');
    await fixture.make('left');
    add(
      fixture.host,
      claim('new', { metadata: { annotations: { 'volume.kubernetes.io/storage-provisioner': 'b.example.com' } } }),
    );
    expect((await fixture.audit(['--confirm=1'])).code).toBe(4);
  });

  it('given no right to list claims, when confirmed, then nothing is, because one of them may be pending', async () => {
    const rules = [
      {
        apiGroups: ['', 'storage.k8s.io', 'snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io'],
        resources: [
          'persistentvolumes',
          'csidrivers',
          'csinodes',
          'volumeattachments',
          'volumesnapshotcontents',
          'volumegroupsnapshotcontents',
          'pods',
        ],
        verbs: ['get', 'list'],
      },
    ];
    const fixture = audited({ rules });
    await recorded(fixture, 'a', 'b');
    await fixture.make('left');
    const result = await fixture.audit(['--confirm=1']);
    expect([result.code, first(result).row, first(result).class]).toEqual([3, 'O4', 'unconfirmed']);
  });

  it('given volumes of two prefixes, when one is given, then the others are foreign, and not found', async () => {
    const fixture = audited();
    const [own = ''] = await fixture.make('left');
    await recorded(fixture, 'a');
    const prefix = own.slice(0, 3);
    expect(rowsOf(await fixture.audit([`--volume-id-prefix=${prefix}`]))).toEqual([`O4 unconfirmed ${own}`]);
    const result = await fixture.audit(['--volume-id-prefix=other-']);
    expect([result.code, rowsOf(result), result.document.foreign]).toEqual([0, [], 1]);
  });
});

describe('volumes that the driver does not list', () => {
  it('[explain#114] given a volume that was removed by hand, when the driver says that it has none, then it is missing at once, with claim and pod', async () => {
    const fixture = audited();
    const [handle = ''] = await recorded(fixture, 'a', 'b', 'c');
    add(fixture.host, podWith('a', 'web'));
    fixture.lose(handle);
    const result = await fixture.audit();
    expect([result.code, rowsOf(result)]).toEqual([4, [`O10 missing ${handle}`]]);
    expect(first(result)).toMatchObject({
      confirmed: true,
      object: { kind: 'PersistentVolume', name: 'pv-a' },
      claim: { namespace, name: 'a' },
      pods: ['web'],
    });
    expect(fixture.methods()).toContain('ControllerGetVolume');
  });

  it('[explain#114] given the same, when the driver cannot be asked, then two lists are needed', async () => {
    const fixture = audited({ without: ['GET_VOLUME'] });
    const [handle = ''] = await recorded(fixture, 'a', 'b', 'c');
    fixture.lose(handle);
    const once = await fixture.audit();
    expect([once.code, rowsOf(once)]).toEqual([3, [`O10 unconfirmed ${handle}`]]);
    const twice = await fixture.audit(['--confirm=1']);
    expect([twice.code, rowsOf(twice)]).toEqual([4, [`O10 missing ${handle}`]]);
    expect(fixture.methods()).not.toContain('ControllerGetVolume');
  });

  it('given a volume whose PersistentVolume is deleted before the driver is asked, then it is not missing at once', async () => {
    const fixture = audited();
    const [handle = ''] = await recorded(fixture, 'a', 'b', 'c');
    fixture.lose(handle);
    fixture.model.faults.add({ method: 'ControllerGetVolume', at: 'before', action: { kind: 'delay', ms: 4_000 } });
    const running = fixture.audit();
    const remove = async (): Promise<void> => {
      while (!fixture.model.calls.some(({ method }) => method.endsWith('ControllerGetVolume'))) {
        await fixture.host.clock.sleep(100);
      }
      fixture.remove('persistentvolumes', 'pv-a');
    };
    const [result] = await Promise.all([running, remove()]);
    expect([result.code, rowsOf(result)]).toEqual([3, [`O10 unconfirmed ${handle}`]]);
  });

  it('given --calls=1 and two missing volumes, then the driver is asked for one, the oldest', async () => {
    const fixture = audited();
    const [old = '', young = ''] = await fixture.make('old', 'young');
    await recorded(fixture, 'c', 'd');
    fixture.record('old', old, { metadata: { annotations: provisioned, creationTimestamp: ago(fixture.host, 9_000) } });
    fixture.record('young', young);
    fixture.lose(old);
    fixture.lose(young);
    const result = await fixture.audit(['--calls=1']);
    expect(rowsOf(result)).toEqual([`O10 missing ${old}`, `O10 unconfirmed ${young}`].sort());
    expect(fixture.model.calls.filter(({ method }) => method.endsWith('ControllerGetVolume')).length).toBe(1);
  });

  it('given a list with a gap, when the driver is asked for what is not in it, then it is a gap and no difference', async () => {
    const fixture = audited();
    const [handle = ''] = await recorded(fixture, 'a', 'b', 'c');
    const entries = ['b', 'c'].map((_, at) => ({ volume: { volume_id: fixture.model.volumes()[at + 1]?.id } }));
    fixture.model.faults.add({ method: 'ListVolumes', action: { kind: 'answer', set: { entries } } });
    const result = await fixture.audit();
    expect([result.code, rowsOf(result)]).toEqual([0, [`O8 pagingGap ${handle}`]]);
  });

  it('[explain#115] given a driver that lists 4 of 10, when confirmed, then the list is incomplete by suspicion, nothing is confirmed, and the exit code is 5', async () => {
    const fixture = audited();
    const handles = await recorded(fixture, ...letters, 'i', 'j');
    for (const handle of handles.slice(4)) fixture.lose(handle);
    const result = await fixture.audit(['--confirm=1']);
    expect([result.code, result.document.counts, result.document.complete]).toEqual([5, { unconfirmed: 6 }, false]);
    expect(result.document.incomplete[0]?.because).toContain('seems to list a part');
    expect(fixture.methods()).not.toContain('ControllerGetVolume');
  });

  it('[explain#117] given a PersistentVolume that a person made for a volume of others, then it is not listed, and the exit code is 0', async () => {
    const fixture = audited();
    await recorded(fixture, 'a', 'b');
    fixture.record('static', 'of-others', {
      metadata: { annotations: {}, creationTimestamp: ago(fixture.host, 3_600) },
    });
    const result = await fixture.audit(['--confirm=1']);
    expect([result.code, rowsOf(result)]).toEqual([0, ['O9 notListed of-others']]);
  });

  it('[explain#121] given a driver of one node, when its node is given, then volumes of other nodes are not missing', async () => {
    const fixture = audited();
    add(fixture.host, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a', labels: { host: 'a' } } });
    const on = (host: string): object => ({
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'host', operator: 'In', values: [host] }] }] },
    });
    const [handle = ''] = await fixture.make('a');
    fixture.record('a', handle, { spec: { csi: { driver, volumeHandle: handle }, nodeAffinity: on('a') } });
    for (const name of ['b', 'c', 'd']) {
      fixture.record(name, `vol-${name}`, {
        spec: { csi: { driver, volumeHandle: `vol-${name}` }, nodeAffinity: on('b') },
      });
    }
    const result = await fixture.audit(['--node=node-a']);
    expect([result.code, result.document.counts, result.document.complete]).toEqual([0, { notListed: 3 }, true]);
    expect((await fixture.audit()).document.complete).toBe(false);
    expect((await fixture.audit(['--node=node-x'])).code).toBe(1);
  });
});

describe('sizes', () => {
  it.each([
    ['4 KiB more', 1024 ** 3 + 4096, {}, []],
    ['twice as much', 2 * 1024 ** 3, {}, ['O12 size']],
    ['half as much', 1024 ** 3 / 2, {}, ['O12 unconfirmed']],
    [
      'half as much, of a claim that grows',
      1024 ** 3 / 2,
      { spec: { resources: { requests: { storage: '2Gi' } } } },
      [],
    ],
    ['nothing', 0, {}, []],
  ])(
    '[explain#118] given a volume of 1 GiB, when the driver lists %s (%d bytes), then a difference is found if it is large',
    async (...[, bytes, changes, found]) => {
      const fixture = audited();
      const [handle = ''] = await recorded(fixture, 'a');
      add(
        fixture.host,
        claim('a', {
          spec: { volumeName: 'pv-a' },
          status: { phase: 'Bound', capacity: { storage: '1Gi' } },
          ...changes,
        }),
      );
      const entries = [{ volume: { volume_id: handle, capacity_bytes: String(bytes) } }];
      fixture.model.faults.add({ method: 'ListVolumes', action: { kind: 'answer', set: { entries } } });
      const once = await fixture.audit();
      expect(once.document.findings.map(({ row, class: group }) => `${row} ${group}`)).toEqual(found);
      const twice = await fixture.audit(['--confirm=1']);
      expect(twice.code).toBe(found[0] === 'O12 unconfirmed' ? 4 : 0);
    },
  );
});

describe('attachments', () => {
  it('[explain#119] given a node without a VolumeAttachment, when listed twice, then it is attached and unrecorded', async () => {
    const fixture = audited();
    const [handle = ''] = await recorded(fixture, 'a', 'b');
    await fixture.attach(handle, 'node-a');
    const once = await fixture.audit();
    expect([once.code, rowsOf(once)]).toEqual([3, [`O13 unconfirmed ${handle}`]]);
    const twice = await fixture.audit(['--confirm=1']);
    expect([twice.code, rowsOf(twice), first(twice).node]).toEqual([4, [`O13 attachedUnrecorded ${handle}`], 'node-a']);
    add(fixture.host, attachment('va', { volume: 'pv-a', status: { attached: true } }));
    expect((await fixture.audit(['--confirm=1'])).code).toBe(0);
  });

  it('[explain#119] given a driver that does not list nodes, then attachments are not compared', async () => {
    const fixture = audited({ without: ['LIST_VOLUMES_PUBLISHED_NODES'] });
    const [handle = ''] = await recorded(fixture, 'a', 'b');
    await fixture.attach(handle, 'node-a');
    const result = await fixture.audit(['--confirm=1']);
    expect([result.code, result.document.notRun]).toEqual([
      0,
      [{ kind: 'attachments', because: 'the driver does not have LIST_VOLUMES_PUBLISHED_NODES' }],
    ]);
  });

  it('given a VolumeAttachment that is gone since the list before, then it is young, and not confirmed', async () => {
    const fixture = audited();
    const [handle = ''] = await recorded(fixture, 'a', 'b');
    await fixture.attach(handle, 'node-a');
    await fixture.attach(handle, 'node-b');
    add(fixture.host, attachment('va', { volume: 'pv-a', status: { attached: true } }));
    const remove = (): void => fixture.remove('volumeattachments', 'va');
    const result = await fixture.audit(['--confirm=1'], remove);
    expect(rowsOf(result)).toEqual([`O13 attachedUnrecorded ${handle}`, `O13 young ${handle}`]);
  });
});

describe('snapshots', () => {
  const content = (name: string, handle: string, changes: object = {}): object => ({
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name, creationTimestamp: '2020-01-01T00:00:00Z' },
    spec: { driver, deletionPolicy: 'Delete', source: { snapshotHandle: handle } },
    status: { readyToUse: true, snapshotHandle: handle },
    ...changes,
  });

  it('given an old snapshot without a content, when listed twice, then it is unrecorded; given a new one, then it is young', async () => {
    const fixture = audited();
    const [handle = ''] = await recorded(fixture, 'a', 'b');
    const snapshot = await fixture.snapshot(handle, 's');
    expect(rowsOf(await fixture.audit())).toEqual([`O19 young ${snapshot}`]);
    await fixture.host.clock.advance(3_600_000);
    const once = await fixture.audit();
    expect([once.code, rowsOf(once)]).toEqual([3, [`O20 unconfirmed ${snapshot}`]]);
    const twice = await fixture.audit(['--confirm=1']);
    expect([twice.code, rowsOf(twice)]).toEqual([4, [`O20 unrecordedSnapshot ${snapshot}`]]);
    expect(first(twice).sentence).toContain('Retain');
    add(fixture.host, content('c', snapshot));
    expect((await fixture.audit(['--confirm=1'])).code).toBe(0);
  });

  it('given a content of a snapshot that the driver does not have, then two lists say that it is missing, and the driver is asked for it', async () => {
    const fixture = audited();
    const [handle = ''] = await recorded(fixture, 'a', 'b');
    const snapshot = await fixture.snapshot(handle, 's');
    add(fixture.host, content('c', snapshot), content('gone', 'snap-gone'));
    const once = await fixture.audit();
    expect([once.code, rowsOf(once)]).toEqual([3, ['O21 unconfirmed snap-gone']]);
    const twice = await fixture.audit(['--confirm=1']);
    expect([twice.code, rowsOf(twice)]).toEqual([4, ['O21 missingSnapshot snap-gone']]);
    const asked = fixture.model.calls.filter(
      ({ request }) => (request as { snapshot_id?: string }).snapshot_id === 'snap-gone',
    );
    expect(asked.length).toBe(3);
  });

  it('given a driver without LIST_SNAPSHOTS, then snapshots are not compared, and volumes are', async () => {
    const fixture = audited({ without: ['LIST_SNAPSHOTS'] });
    await recorded(fixture, 'a', 'b');
    const [left = ''] = await fixture.make('left');
    const result = await fixture.audit();
    expect([rowsOf(result), result.document.notRun]).toEqual([
      [`O4 unconfirmed ${left}`],
      [{ kind: 'snapshots', because: 'the driver does not have LIST_SNAPSHOTS' }],
    ]);
    expect(fixture.methods()).not.toContain('ListSnapshots');
  });
});

describe('the command', () => {
  it('[explain#120] given the name of another driver, then nothing is listed, and the exit code is 1', async () => {
    const fixture = audited({ name: 'b.example.com' });
    const result = await fixture.audit();
    expect([result.code, result.document.error?.text]).toEqual([1, `the driver is b.example.com, and not ${driver}`]);
    expect([...fixture.methods()].filter((method) => method.startsWith('List'))).toEqual([]);
    expect(requestsOf(fixture.host)).toEqual([]);
  });

  it('given a driver that refuses the list, then the exit code is 1 with its reason', async () => {
    const fixture = audited();
    fixture.model.faults.add({
      method: 'ListVolumes',
      action: { kind: 'fail', code: 'PermissionDenied', message: 'no' },
    });
    const result = await fixture.audit();
    expect(result.code).toBe(1);
    expect(result.document.error?.text).toContain('the driver refused the list: rpc error: code = PermissionDenied');
  });

  it('given a driver that never answers, then the command ends at its time limit', async () => {
    const fixture = audited();
    await recorded(fixture, 'a');
    fixture.model.faults.add({ method: 'ListVolumes', action: { kind: 'hang' } });
    const startedMs = fixture.host.clock.monotonicMs();
    expect((await fixture.audit(['--request-timeout=1h', '--timeout=30s'])).code).toBe(1);
    expect(fixture.host.clock.monotonicMs() - startedMs).toBeLessThanOrEqual(35_000);
  });

  it('[explain#116] given a page that fails after the first, then the list is incomplete, nothing is missing, and the exit code is 5', async () => {
    const fixture = audited();
    await recorded(fixture, ...letters);
    fixture.model.faults.add({ method: 'ListVolumes', skip: 1, action: { kind: 'fail', code: 'Internal' } });
    const result = await fixture.audit(['--page-size=3']);
    expect([result.code, rowsOf(result), result.document.complete]).toEqual([5, [], false]);
  });

  it('given a driver without volumes, then the exit code is 0; given one that lists nothing at all, then it is 5', async () => {
    expect((await audited({ without: ['LIST_SNAPSHOTS'] }).audit()).code).toBe(0);
    const { code, document } = await audited({ without: ['LIST_SNAPSHOTS', 'LIST_VOLUMES'] }).audit();
    expect([code, document.notRun.length]).toEqual([5, 3]);
    expect((await audited({ without: ['LIST_SNAPSHOTS'] }).audit(['--kinds=snapshots'])).code).toBe(5);
  });

  it('given a cluster where no object names the driver, then the exit code is 6', async () => {
    const fixture = audited();
    fixture.remove('csidrivers', driver);
    for (const name of ['node-a', 'node-b']) fixture.remove('csinodes', name);
    await fixture.make('a');
    expect((await fixture.audit()).code).toBe(6);
  });

  it('given no right to list PersistentVolumes, then volumes are not compared, and the exit code is 5', async () => {
    const rules = [{ apiGroups: ['*'], resources: ['csidrivers', 'persistentvolumeclaims'], verbs: ['get', 'list'] }];
    const fixture = audited({ rules });
    await fixture.make('a');
    const { code, document } = await fixture.audit();
    expect([code, document.findings]).toEqual([5, []]);
    expect(document.notRun.map(({ kind }) => kind)).toContain('volumes');
  });

  it.each([[['--kinds=disks']], [['--confirm=-1']], [['--driver-list=a.json']], [['extra']], [['--volume-id-prefix']]])(
    'given the arguments %j, then the exit code is 2, and the driver is not called',
    async (args) => {
      const fixture = audited();
      expect((await fixture.audit(args)).code).toBe(2);
      expect([...fixture.methods()]).toEqual([]);
    },
  );

  it('given a list of a file, then it is compared as the list of the driver', async () => {
    const fixture = audited();
    const handles = await recorded(fixture, 'a', 'b', 'c');
    const [left = ''] = await fixture.make('left');
    fixture.lose(handles[0] ?? '');
    const { host, model } = fixture;
    const list = async (): Promise<string> => {
      const channel = model.channel({ peer: 'audit', lossPolicy: 'reconnect' });
      const before = host.printed().length;
      const args = ['--dump', '--driver-address=/csi/csi.sock'];
      const connectCsi = async () => ({ ...channel, loggedBy: () => channel });
      expect(await ended(host, runAudit({ host: { ...host, args, connectCsi }, lifecycle: host.lifecycle }))).toBe(0);
      return host.printed().slice(before);
    };
    const compared = async (...documents: readonly string[]): Promise<readonly [number, string]> => {
      for (const [at, text] of documents.entries()) host.files.write(`/list-${at}.json`, text);
      const before = host.printed().length;
      const args = [`--driver=${driver}`, `--driver-list=${documents.map((_, at) => `/list-${at}.json`).join(',')}`];
      const code = await ended(host, runAudit({ host: { ...host, args }, lifecycle: host.lifecycle }));
      return [code, host.printed().slice(before)];
    };
    const earlier = await list();
    const [once, text] = await compared(earlier);
    expect(once).toBe(3);
    expect(text).toContain(`O4  ${left}`);
    expect(text).toContain(`O10  ${handles[0]}, PersistentVolume pv-a, claim ${namespace}/a`);
    expect((await compared(earlier, await list()))[0]).toBe(1);
    await host.clock.advance(600_000);
    const [twice, confirmed] = await compared(earlier, await list());
    expect(twice).toBe(4);
    expect(confirmed).toContain(`O6  ${left}`);
    expect(confirmed).toContain(`O10  ${handles[0]}`);
    for (const wrong of [
      '',
      '{}',
      earlier.replace('"capacityBytes": ', '"capacityBytes": "1", "x": '),
      earlier.replace(driver, 'other'),
    ]) {
      expect((await compared(wrong))[0]).toBe(1);
    }
  });
});

describe('the calls', () => {
  const allowed = [
    'GetPluginInfo',
    'GetPluginCapabilities',
    'ControllerGetCapabilities',
    'ListVolumes',
    'ListSnapshots',
    'ControllerGetVolume',
  ];
  const capabilities = ['LIST_VOLUMES', 'LIST_SNAPSHOTS', 'GET_VOLUME', 'LIST_VOLUMES_PUBLISHED_NODES'] as const;
  const faulty = ['ListVolumes', 'ListSnapshots', 'ControllerGetVolume', 'ControllerGetCapabilities'] as const;
  const codes = ['Internal', 'Aborted', 'NotFound', 'Unimplemented'] as const;

  it('[explain#124] given random drivers, clusters, failures and command lines, then the driver and the API server get no call that changes anything', async () => {
    const methods = new Set<string>();
    const results = new Set<number>();
    for (let seed = 1; seed <= 60; seed += 1) {
      const random = seededRandom(seed);
      const may = (chance: number): boolean => random.next() < chance;
      const one = <T>(of: readonly T[]): T | undefined => of[Math.floor(random.next() * of.length)];
      const fixture = audited({ without: capabilities.filter(() => may(0.2)) });
      const names = letters.filter(() => may(0.6));
      for (const [at, handle] of (await fixture.make(...names)).entries()) {
        const name = names[at] ?? '';
        if (may(0.7)) fixture.record(name, handle, may(0.3) ? { status: { phase: 'Released' } } : {});
        if (may(0.3)) await fixture.attach(handle, one(['node-a', 'node-b', 'gone']) ?? '');
        if (may(0.3)) await fixture.snapshot(handle, `of-${name}`);
        if (may(0.3)) fixture.lose(handle);
      }
      if (may(0.3)) add(fixture.host, claim('new', { metadata: asked }));
      if (may(0.4)) {
        const action = { kind: 'fail', code: one(codes) ?? 'Internal' } as const;
        fixture.model.faults.add({ method: one(faulty) ?? '', skip: Math.floor(random.next() * 3), action });
      }
      const args = [`--confirm=${may(0.5) ? 1 : 0}`, `--page-size=${one([0, 1, 3])}`, `--calls=${one([0, 1, 100])}`];
      results.add((await fixture.audit(args)).code);
      for (const method of fixture.methods()) methods.add(method);
      expect(requestsOf(fixture.host).filter((request) => !/^(get|list) /.test(request))).toEqual([]);
    }
    expect([...methods].sort()).toEqual([...allowed].sort());
    expect([...results].sort((left, right) => left - right)).toEqual([0, 1, 3, 4, 5]);
  });
});
