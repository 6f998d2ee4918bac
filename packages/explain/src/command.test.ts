// SPDX-License-Identifier: Apache-2.0
/** The command line, the API server that refuses or is silent, rights that are missing, clocks, and texts of others. */
import { ApiError, type Transport, TransportError } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import {
  add,
  addWithEvent,
  ago,
  asked,
  boundClaim,
  claim,
  clusterOf,
  csiDriver,
  csiNode,
  driver,
  event,
  explain,
  leading,
  lease,
  namespace,
  node,
  pod,
  podWith,
  requestsOf,
  run,
  storageClass,
  volumeOf,
} from '../testing/cluster.ts';

const ofData = ['pvc/data', '-n', namespace];
const late = { volumeBindingMode: 'WaitForFirstConsumer' };
const provisionerLease = 'a-example-com';
const waiting = [storageClass('gp'), csiDriver(), claim('data', { metadata: asked })];

describe('the subject', () => {
  it('[explain#40] given no claim of the name, and a pod of the name, when explained, then the pod is named, and the exit code is 6', async () => {
    const { code, document } = await explain(clusterOf([pod('data')]), ofData);
    expect([code, document.row, document.verdict]).toEqual([6, 'X2', 'absent']);
    expect(document.sentence).toContain('a pod of that name does');
  });

  it('given no claim of the name, and an event of one that is gone, when explained, then the newest event of the last hour is shown', async () => {
    const host = clusterOf([]);
    const gone = claim('data');
    add(
      host,
      event(gone, { reason: 'ProvisioningFailed', message: 'no pool', first: ago(host, 900), last: ago(host, 600) }),
    );
    const { code, document } = await explain(host, ofData);
    expect([code, document.row]).toEqual([6, 'X1']);
    expect(document.sentence).toContain('ProvisioningFailed: no pool');
    const old = clusterOf([]);
    add(
      old,
      event(gone, { reason: 'ProvisioningFailed', message: 'no pool', first: ago(old, 9_000), last: ago(old, 3_601) }),
    );
    expect((await explain(old, ofData)).document.sentence).not.toContain('no pool');
  });

  it.each([
    [['pvc/a b']],
    [['foo/a']],
    [['pvc/a', '-o', 'xml']],
    [['pvc/a', 'pvc/b']],
    [['pvc']],
    [[]],
    [['pvc/a/b']],
    [['pvc/']],
    [['pvc.apps/a']],
    [['pvc/a', '--volume-name-prefix=']],
    [['pvc/a', '--until=never']],
    [['pvc/a', '--unknown']],
  ])(
    '[explain#41] given the arguments %j, when run, then the exit code is 2, and nothing is printed on stdout',
    async (args) => {
      const host = clusterOf([]);
      expect(await run(host, args)).toBe(2);
      expect(host.printed()).toBe('');
      expect(host.logged()).not.toBe('');
      expect(requestsOf(host)).toEqual([]);
    },
  );

  it.each([['pvc/data'], ['PVC/data'], ['persistentvolumeclaims/data'], ['persistentvolumeclaim/data']])(
    'given %s, when run, then the claim is meant',
    async (word) => {
      const host = clusterOf(waiting);
      expect((await explain(host, [word, '-n', namespace])).document.subject.name).toBe('data');
    },
  );

  it('given kind and name as two words, and the namespace in the context, when run, then the claim is meant', async () => {
    const host = clusterOf([claim('data', { metadata: { namespace: 'default' } })]);
    expect((await explain(host, ['pvc', 'data'])).document.subject).toMatchObject({
      kind: 'PersistentVolumeClaim',
      namespace: 'default',
      name: 'data',
    });
  });

  it('given -n with a kind of the whole cluster, when run, then one line says that it is ignored', async () => {
    const host = clusterOf([volumeOf('data')]);
    const { document } = await explain(host, ['pv/pv-data', '-n', namespace]);
    expect(document.subject).toMatchObject({ kind: 'PersistentVolume', namespace: null, name: 'pv-data' });
    expect(host.logged()).toBe('--namespace is ignored: a PersistentVolume belongs to no namespace\n');
    await explain(host, ['pv/pv-data']);
    expect(host.logged().split('\n')).toHaveLength(2);
  });

  it('[explain#53] given a name of 253 characters, and an event whose name is cut, when explained, then the event is found by the UID', async () => {
    const name = `${'a'.repeat(240)}.${'b'.repeat(12)}`;
    const host = clusterOf(waiting.slice(0, 2));
    const stored = host.server.objects.seed(claim(name, { metadata: asked }));
    const recorded = event(stored, {
      reason: 'ProvisioningFailed',
      message: 'rpc error: code = Internal desc = x',
      first: ago(host, 60),
      last: ago(host, 5),
    });
    add(host, { ...recorded, metadata: { ...recorded.metadata, name: 'a.cut' } });
    expect((await explain(host, [`pvc/${name}`, '-n', namespace])).document.error?.text).toContain('code = Internal');
  });

  it('[explain#57] given a claim that was made again under its name, when explained, then events of the earlier one do not count', async () => {
    const host = clusterOf(waiting);
    add(host, ...leading(host, 'csi-provisioner', provisionerLease));
    add(
      host,
      event(claim('data', { metadata: { uid: 'an-earlier-one' } }), {
        reason: 'ProvisioningFailed',
        message: 'rpc error: code = InvalidArgument desc = x',
        first: ago(host, 90),
        last: ago(host, 70),
      }),
    );
    const { document } = await explain(host, ofData);
    expect([document.row, document.error]).toEqual(['X31', null]);
  });
});

describe('an API server', () => {
  it('[explain#42] given one that refuses connections, when run, then the exit code is 1 with one line; with -o json there is a document', async () => {
    const refusing = (): Transport => () =>
      Promise.reject(new TransportError('refused', 'connect ECONNREFUSED 127.0.0.1:6443'));
    const host = clusterOf([], { intercept: refusing });
    expect(await run(host, ofData)).toBe(1);
    expect(host.printed()).toBe('');
    expect(host.logged()).toBe('error: the API server cannot be reached\n');
    const json = clusterOf([], { intercept: refusing });
    const { code, document } = await explain(json, ofData);
    expect([code, document]).toEqual([
      1,
      expect.objectContaining({
        kind: 'Explanation',
        verdict: 'failed',
        exitCode: 1,
        error: { text: 'the API server cannot be reached' },
      }),
    ]);
  });

  const silentFor =
    (isSilent: (path: string) => boolean) =>
    (transport: Transport): Transport =>
    (request) =>
      isSilent(request.path)
        ? new Promise((_, reject) => {
            const onAbort = (): void => reject(new TransportError('timeout', 'no answer'));
            request.signal.addEventListener('abort', onAbort, { once: true });
          })
        : transport(request);

  it('[explain#43] given one that never answers, when run, then the exit code is 1 after --timeout; given silence after the subject, then what is known is printed', async () => {
    const host = clusterOf(waiting, { intercept: silentFor(() => true) });
    const startedMs = host.clock.monotonicMs();
    expect(await run(host, [...ofData, '--timeout=20s', '--request-timeout=1m'])).toBe(1);
    expect(host.clock.monotonicMs() - startedMs).toBeLessThanOrEqual(21_000);
    const later = clusterOf(waiting, { intercept: silentFor((path) => !path.includes('/persistentvolumeclaims/')) });
    const { code, document } = await explain(later, [...ofData, '--timeout=20s']);
    expect([code, document.verdict]).toEqual([5, 'unknown']);
    expect(document.missing.every(({ because }) => because === 'timeout')).toBe(true);
    expect(document.missing.length).toBeGreaterThan(0);
  });

  it('[explain#44] given credentials that have expired, when run, then the exit code is 1 after two requests at most', async () => {
    let requests = 0;
    const expired = (): Transport => () => {
      requests += 1;
      return Promise.reject(new ApiError({ status: 401, reason: 'Unauthorized', message: 'Unauthorized' }));
    };
    const host = clusterOf([], { intercept: expired });
    expect(await run(host, ofData)).toBe(1);
    expect(host.logged()).toContain('credentials');
    expect(requests).toBeLessThanOrEqual(2);
  });

  it('given no configuration of a cluster, when run, then the exit code is 1 with the reason', async () => {
    const host = { ...clusterOf([]), connectApi: () => Promise.reject(new Error('no kubeconfig was found')) };
    expect(await run(host, ofData)).toBe(1);
    expect(host.logged()).toBe('error: no kubeconfig was found\n');
  });
});

describe('rights', () => {
  it('[explain#45] given the right to get claims and nothing else, when explained, then everything else is missing, and nothing is concluded', async () => {
    const rules = [{ apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get'] }];
    for (const objects of [waiting, [boundClaim('data')]]) {
      const { code, document } = await explain(clusterOf(objects, { rules }), ofData);
      expect(code).toBe(5);
      expect(document.missing.length).toBeGreaterThan(0);
      expect(document.missing.every(({ because }) => because === 'forbidden')).toBe(true);
    }
  });

  it('[explain#46] given the rights of a namespace only, when explained, then what objects of the namespace say is still answered', async () => {
    const edit = [
      { apiGroups: [''], resources: ['persistentvolumeclaims', 'pods', 'events'], verbs: ['get', 'list'], namespace },
    ];
    const used = {
      metadata: { deletionTimestamp: '2024-01-01T00:00:00Z', finalizers: ['kubernetes.io/pvc-protection'] },
    };
    const deleted = await explain(
      clusterOf([boundClaim('data', used), podWith('data', 'writer')], { rules: edit }),
      ofData,
    );
    expect([deleted.code, deleted.document.row]).toEqual([4, 'X71']);
    const host = clusterOf([], { rules: edit });
    addWithEvent(host, claim('data', { metadata: asked }), {
      reason: 'ProvisioningFailed',
      message: 'rpc error: code = InvalidArgument desc = x',
      firstAgo: 60,
      lastAgo: 5,
    });
    const refused = await explain(host, ofData);
    expect([refused.code, refused.document.row]).toEqual([4, 'X25']);
    expect(refused.document.missing.map(({ resource }) => resource)).toContain('storageclasses');
  });

  it('given no right to read the subject, when explained, then the exit code is 1', async () => {
    const host = clusterOf(waiting, { rules: [] });
    expect(await run(host, ofData)).toBe(1);
    expect(host.logged()).toBe('error: you may not read PersistentVolumeClaim data\n');
  });
});

describe('clocks and Leases', () => {
  const dated =
    (offsetMs: number) =>
    (transport: Transport): Transport =>
    async (request) => {
      const answer = await transport(request);
      return { ...answer, headers: { ...answer.headers, date: new Date(clock.nowMs() + offsetMs).toUTCString() } };
    };
  let clock: { nowMs: () => number } = { nowMs: () => 0 };

  it('[explain#47] given a machine whose clock is two hours ahead, when explained, then ages are those of the server, and one line says so', async () => {
    const twoHoursMs = 7_200_000;
    const host = clusterOf([storageClass('gp', late), csiDriver()], { intercept: dated(-twoHoursMs) });
    clock = host.clock;
    add(host, claim('data', { metadata: { creationTimestamp: ago(host, 7_200 + 300) } }));
    expect(await run(host, ofData)).toBe(3);
    expect(host.printed()).toContain('Turn    user, since 5m');
    expect(host.printed()).toContain('Clock   the clock of this machine is 2h ahead of that of the API server');
  });

  const lived = async (facts: { renewed: number; seconds?: number; renews: boolean }) => {
    const host = clusterOf(waiting);
    const name = { namespace: 'storage', name: provisionerLease };
    add(host, ...leading(host, 'csi-provisioner', provisionerLease));
    add(
      host,
      lease(provisionerLease, {
        holder: 'csi-provisioner-0',
        renewed: ago(host, facts.renewed),
        ...(facts.seconds !== undefined && { seconds: facts.seconds }),
      }),
    );
    const { leases } = await import('@csi-sidecars/runtime');
    if (facts.renews) {
      host.clock.timer(
        3_000,
        () =>
          void host.server.objects.change(leases, name, (found) => ({
            ...found,
            spec: { ...found.spec, renewTime: ago(host, facts.renewed) },
          })),
      );
    }
    const explained = await explain(host, ofData);
    return { explained, reads: requestsOf(host).filter((path) => path.includes('/leases')).length };
  };

  it('[explain#48] given a holder whose clock is 90 s behind, and that renews, when explained, then it lives after a second reading, and the difference is reported', async () => {
    const { explained, reads } = await lived({ renewed: 90, renews: true });
    const { turn, findings, row } = explained.document;
    expect([row, turn?.alive, reads]).toEqual(['X31', 'yes', 2]);
    expect(turn?.aliveBecause).toContain('90 s behind');
    expect(findings).toEqual(['clock-1']);
  });

  it('[explain#49] given a renewal an hour in the future that does not change, when explained, then it is not known whether the holder lives', async () => {
    const { explained } = await lived({ renewed: -3_600, renews: false });
    expect([explained.document.row, explained.document.turn?.alive]).toEqual(['X31', 'unknown']);
  });

  it('[explain#50] given a Lease of 137 s that was renewed 100 s ago, when explained, then it lives after one reading', async () => {
    const { explained, reads } = await lived({ renewed: 100, seconds: 137, renews: false });
    expect([explained.document.row, explained.document.turn?.alive, reads]).toEqual(['X31', 'yes', 1]);
  });

  it('[explain#51] given two drivers that share the name of a Lease, when explained, then it lives only if the holder names the driver', async () => {
    const other = csiDriver('a-example-com');
    const host = clusterOf([...waiting, other]);
    add(host, ...leading(host, 'csi-provisioner', provisionerLease));
    const open = await explain(host, ofData);
    expect(open.document.turn?.alive).toBe('unknown');
    const named = clusterOf([...waiting, other]);
    add(named, lease(provisionerLease, { holder: 'csi-provisioner-0', renewed: ago(named, 3) }));
    const containers = [
      { name: 'csi-provisioner', image: 'x/csi-provisioner:v1', args: [`--csi-address=/plugins/${driver}/csi.sock`] },
    ];
    add(named, pod('csi-provisioner-0', { metadata: { namespace: 'storage' }, spec: { containers } }));
    expect((await explain(named, ofData)).document.turn?.alive).toBe('yes');
  });

  it('[explain#52] given Leases of three drivers, when explained, then only that of the driver is read', async () => {
    const host = clusterOf(waiting);
    add(host, ...leading(host, 'csi-provisioner', provisionerLease));
    for (const each of ['b-example-com', 'c-example-com'])
      add(host, lease(each, { holder: `${each}-0`, renewed: ago(host, 3) }));
    await explain(host, ofData);
    const reads = requestsOf(host).filter(
      (path) => path.includes('/leases') || path.includes('/namespaces/storage/pods'),
    );
    expect(reads.every((path) => /a-example-com|csi-provisioner-0/.test(path))).toBe(true);
    expect(reads).toHaveLength(2);
  });
});

describe('texts of others', () => {
  const odd = '\u001B[2J\u202Ewhat %s `id`\nNext    rm -rf /';

  it('[explain#54] given an event with control characters and a mebibyte of zeros, when explained, then each is replaced or cut, and no line begins with it', async () => {
    const host = clusterOf(waiting);
    addWithEvent(host, claim('data', { metadata: asked }), {
      reason: 'ProvisioningFailed',
      message: `rpc error: code = InvalidArgument desc = ${odd}${'\0'.repeat(2 ** 20)}`,
      firstAgo: 60,
      lastAgo: 5,
    });
    await run(host, ofData);
    const lines = host.printed().split('\n');
    expect(lines.length).toBeLessThanOrEqual(25);
    expect(lines.every((line) => line.length <= 80)).toBe(true);
    expect(lines.filter((line) => line.startsWith('Next'))).toEqual(['Next    kubectl get storageclass gp -o yaml']);
    // eslint-disable-next-line no-control-regex
    expect(host.printed()).not.toMatch(/[^\n -~]/);
    const again = clusterOf(waiting);
    addWithEvent(again, claim('data', { metadata: asked }), {
      reason: 'ProvisioningFailed',
      message: `rpc error: code = InvalidArgument desc = ${odd}${'\0'.repeat(2 ** 20)}`,
      firstAgo: 60,
      lastAgo: 5,
    });
    const { document } = await explain(again, ofData);
    expect(document.error).toMatchObject({ truncated: true, code: 3 });
    expect(Buffer.byteLength(document.error?.text ?? '')).toBeLessThanOrEqual(4_096);
  });

  it('[explain#55] given annotations that hold commands of a shell, when explained, then no command contains them', async () => {
    const annotations = {
      'volume.kubernetes.io/storage-provisioner': 'x; rm -rf ~',
      'volume.kubernetes.io/selected-node': '$(id)',
    };
    const host = clusterOf([storageClass('gp'), csiDriver(), claim('data', { metadata: { annotations } })]);
    const { code, document } = await explain(host, ofData);
    expect([code, document.row]).toEqual([4, 'X14']);
    expect(JSON.stringify(document.next)).not.toMatch(/rm -rf|\$\(id\)/);
  });

  it('[explain#56] given a handle of four kibibytes with slashes and spaces, when explained, then the document has it, cut at 4,096 bytes', async () => {
    const handle = `pool/a b/${'x'.repeat(4_500)}`;
    const volume = volumeOf('data', {
      metadata: { finalizers: ['external-provisioner.volume.kubernetes.io/finalizer'] },
      spec: { csi: { driver, volumeHandle: handle } },
      status: { phase: 'Released' },
    });
    const { document } = await explain(clusterOf([volume]), ['pv/pv-data']);
    expect(document.risk.sentence).toContain('pool/a b/');
    expect(document.risk.sentence.length).toBeLessThanOrEqual(4_096);
  });

  it('[explain#59] given an event that combines others, when explained, then the newest text is shown without the prefix', async () => {
    const host = clusterOf(waiting);
    addWithEvent(host, claim('data', { metadata: asked }), {
      reason: 'ProvisioningFailed',
      message: '(combined from similar events): rpc error: code = Internal desc = disk 7',
      count: 40,
      firstAgo: 3_000,
      lastAgo: 5,
    });
    const { document } = await explain(host, ofData);
    expect(document.error).toMatchObject({ text: 'rpc error: code = Internal desc = disk 7', count: 40 });
    // Events are filtered from the 25th on, so the next attempt is known within five minutes only.
    expect(document.retry?.latest).toBe(ago(host, 5 - 330));
  });

  it('[explain#58] given a failure of three hours ago whose events are gone, when explained, then it is never called done', async () => {
    const host = clusterOf(waiting);
    add(host, ...leading(host, 'csi-provisioner', provisionerLease));
    const { code } = await explain(host, ofData);
    expect([3, 5]).toContain(code);
  });

  it('[explain#88] given field values that no version of Kubernetes has, when explained, then nothing throws, and the exit code is 5 at most', async () => {
    const phases = [
      boundClaim('data', {
        status: {
          phase: 'Quantum',
          allocatedResourceStatuses: { storage: 'Entangled' },
          modifyVolumeStatus: { status: 'Odd' },
        },
      }),
      claim('data', { spec: { volumeMode: 'Tape', accessModes: ['ReadWriteTwice'] }, metadata: asked }),
    ];
    for (const object of phases) {
      const host = clusterOf([
        storageClass('gp', { volumeBindingMode: 'WhenTheMoonIsFull' }),
        csiDriver(),
        volumeOf('data', { status: { phase: 'Odd' }, spec: { persistentVolumeReclaimPolicy: 'Maybe' } }),
        object,
      ]);
      add(host, ...leading(host, 'csi-provisioner', provisionerLease));
      const { code } = await explain(host, ofData);
      expect(code).toBeGreaterThanOrEqual(0);
      expect(code).toBeLessThanOrEqual(5);
      expect(code).not.toBe(1);
    }
  });
});

describe('the screen', () => {
  it('given a verdict that waits for a person, when printed, then stages, turn, error, retry, change, risk, row and one command are shown', async () => {
    const host = clusterOf([storageClass('gp'), csiDriver()]);
    addWithEvent(host, claim('data', { metadata: asked }), {
      reason: 'ProvisioningFailed',
      message: 'rpc error: code = InvalidArgument desc = pool p1 does not exist',
      count: 9,
      firstAgo: 840,
      lastAgo: 14,
    });
    expect(await run(host, ofData)).toBe(4);
    expect(host.printed()).toBe(
      [
        'PersistentVolumeClaim shop/data                             driver a.example.com',
        '  done  class gp',
        '  NOW   provision: the driver has refused CreateVolume 9 times',
        '  next  record, bind, attach, stage, use',
        'Turn    administrator (then csi-provisioner), since 14m',
        'Error   14s ago, 9 times, InvalidArgument: "rpc error: code = InvalidArgument',
        '        desc = pool p1 does not exist"',
        'Retry   yes, by itself within 5m: after its backoff',
        'Change  make a new class with other parameters: those of a class cannot be',
        '        changed (StorageClass gp, parameters)',
        'Change  what the message names in the storage system',
        'Risk    none',
        'Row     X25; C24 of csi-provisioner (computed): would try again',
        'Next    kubectl get storageclass gp -o yaml',
        '',
      ].join('\n'),
    );
  });

  it('given a terminal, when printed, then NOW and Error are red, unless NO_COLOR or TERM=dumb says otherwise', async () => {
    const printed = async (env: Record<string, string>): Promise<string> => {
      const host = clusterOf(waiting, { env });
      await run(host, ofData, 100);
      return host.printed();
    };
    expect(await printed({})).toContain('\u001B[31m  NOW');
    expect(await printed({ NO_COLOR: '1' })).not.toContain('\u001B');
    expect(await printed({ TERM: 'dumb' })).not.toContain('\u001B');
  });

  it('given -o row, -o yaml and --exit-zero, when run, then one line, the same document, and 0 in place of the code', async () => {
    const row = clusterOf([storageClass('gp', late), csiDriver(), claim('data')]);
    expect(await run(row, [...ofData, '-o', 'row', '--exit-zero'])).toBe(0);
    expect(row.printed()).toBe('X15 0 user waits for the first pod that uses it; that is normal\n');
    const yaml = clusterOf([storageClass('gp', late), csiDriver(), claim('data')]);
    expect(await run(yaml, [...ofData, '-o', 'yaml'])).toBe(3);
    expect(yaml.printed()).toContain('row: X15\n');
  });
});

describe('volumes of other kinds', () => {
  it('[explain#62] given an ephemeral volume whose claim belongs to something else, when explained, then the name is taken', async () => {
    const writer = pod('writer', {
      spec: { volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } }] },
    });
    const { code, document } = await explain(clusterOf([writer, claim('writer-scratch')]), [
      'pod/writer',
      '-n',
      namespace,
    ]);
    expect([code, document.row]).toEqual([4, 'X10']);
    expect(document.sentence).toContain('belongs to something else');
  });

  it('[explain#60] given a pod with 12 volumes of which one waits, when explained, then that one is first, and the two that were not read are not called ready', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `data-${index}`);
    const writer = pod('writer', {
      spec: {
        nodeName: 'node-a',
        volumes: names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
      },
      status: { phase: 'Pending' },
    });
    const host = clusterOf([
      storageClass('gp'),
      csiDriver(driver, { attachRequired: false }),
      csiNode('node-a'),
      node('node-a'),
      writer,
    ]);
    for (const name of names) {
      if (name === 'data-3') add(host, claim(name, { metadata: asked }));
      else add(host, boundClaim(name), volumeOf(name));
    }
    const { document } = await explain(host, ['pod/writer', '-n', namespace]);
    expect(document.volumes).toHaveLength(10);
    expect(document.volumes?.[0]?.subject.name).toBe('data-3');
    expect(document.sentence).toContain('2 more volumes were not read: --all-volumes');
    const all = await explain(host, ['pod/writer', '-n', namespace, '--all-volumes']);
    expect(all.document.volumes).toHaveLength(12);
  });

  it('[explain#61] given an inline CSI volume, when explained, then its stages are register, stage and use, and no attachment is asked for', async () => {
    const writer = pod('writer', { spec: { nodeName: 'node-a', volumes: [{ name: 'x', csi: { driver } }] } });
    const host = clusterOf([csiDriver(), csiNode('node-a', []), node('node-a'), writer]);
    const { document } = await explain(host, ['pod/writer', '-n', namespace]);
    expect([document.row, document.stages.map(({ id }) => id)]).toEqual(['X43', ['register', 'stage', 'use']]);
    expect(requestsOf(host).filter((path) => /volumeattachments|persistentvolumeclaims/.test(path))).toEqual([]);
  });

  it('[explain#63] given an in-tree volume that was migrated, when explained, then the attachment is found by the translated handle', async () => {
    const ebs = 'ebs.csi.aws.com';
    const annotations = { 'pv.kubernetes.io/migrated-to': ebs };
    const volume = volumeOf('data', {
      metadata: { annotations },
      spec: { csi: undefined, awsElasticBlockStore: { volumeID: 'vol-1' } },
    });
    const host = clusterOf([
      storageClass('gp'),
      csiDriver(ebs),
      boundClaim('data'),
      volume,
      csiNode('node-a', [{ name: ebs, nodeID: 'i', topologyKeys: null }]),
      podWith('data', 'writer', { spec: { nodeName: 'node-a' } }),
    ]);
    const { document } = await explain(host, ofData);
    expect(document.driver?.name).toBe(ebs);
    const { attachmentNameOf } = await import('./facts/volume.ts');
    const expected = attachmentNameOf({ driver: ebs, handle: 'vol-1', isMigrated: true }, 'node-a');
    expect(requestsOf(host).some((path) => path.includes(expected))).toBe(true);
    expect(document.sentence).toContain('(X4: ');
  });

  it('[explain#64] given a hostPath volume, when explained, then no sidecar is involved', async () => {
    const volume = volumeOf('data', { spec: { csi: undefined, hostPath: { path: '/data' } } });
    const { code, document } = await explain(clusterOf([storageClass('gp'), boundClaim('data'), volume]), ofData);
    expect([code, document.row]).toEqual([5, 'X3']);
  });

  it('[explain#65] given a driver that does not attach, when explained, then the stage is skipped, and no attachment is asked for', async () => {
    const host = clusterOf([
      storageClass('gp'),
      csiDriver(driver, { attachRequired: false }),
      boundClaim('data'),
      volumeOf('data'),
      csiNode('node-a'),
      node('node-a'),
      podWith('data', 'writer', { spec: { nodeName: 'node-a' } }),
    ]);
    const { document } = await explain(host, ofData);
    expect(document.stages.find(({ id }) => id === 'attach')?.state).toBe('skip');
    expect(requestsOf(host).filter((path) => path.includes('volumeattachments'))).toEqual([]);
  });

  it('[explain#66] given a released volume, and a new claim of the old name, when explained, then the new claim is another one', async () => {
    const volume = volumeOf('data', {
      spec: { persistentVolumeReclaimPolicy: 'Retain' },
      status: { phase: 'Released' },
    });
    const { document } = await explain(clusterOf([volume, claim('data', { metadata: { uid: 'a-new-one' } })]), [
      'pv/pv-data',
    ]);
    expect(document.sentence).toContain('is another one');
  });
});

describe('a deleted claim with a provisioning finalizer', () => {
  const finalizers = [`provisioning-protection.provisioner.storage.kubernetes.io/${driver}`];
  const deleted = (host: ReturnType<typeof clusterOf>, seconds: number): object =>
    claim('data', { metadata: { ...asked, finalizers, deletionTimestamp: ago(host, seconds) } });

  it('[explain#67] given a deletion two minutes ago, and csi-provisioner alive, when explained, then the finalizer goes a bounded time after the deletion', async () => {
    const host = clusterOf(waiting.slice(0, 2));
    add(host, deleted(host, 120), ...leading(host, 'csi-provisioner', provisionerLease));
    const { code, document } = await explain(host, ofData);
    expect([code, document.row, document.turn?.actor]).toEqual([3, 'X73', 'csi-provisioner']);
    expect(document.retry?.latest).toBe(ago(host, 120 - 360));
    expect(document.risk).toMatchObject({ level: 'possible', of: 'leak' });
  });

  it('[explain#68] given a deletion an hour ago, when explained, then the claim is kept until it is known, without a bound', async () => {
    const host = clusterOf(waiting.slice(0, 2));
    add(host, deleted(host, 3_600), ...leading(host, 'csi-provisioner', provisionerLease));
    const { code, document } = await explain(host, ofData);
    expect([code, document.retry?.latest]).toEqual([3, null]);
    expect(document.sentence).toContain('P9');
  });

  it('[explain#69] given no csi-provisioner anywhere, when explained, then leftovers is the next command', async () => {
    const host = clusterOf(waiting.slice(0, 2));
    add(host, deleted(host, 120));
    const { code, document } = await explain(host, ofData);
    expect([code, document.row]).toEqual([4, 'X6']);
    expect(document.next?.command).toEqual(['csi-sidecars', 'leftovers', '--driver', driver]);
  });

  it("[explain#70] given upstream's provisioner, and a CreateVolume that timed out, when explained, then deleting the claim may leave a volume", async () => {
    const host = clusterOf(waiting.slice(0, 2));
    addWithEvent(host, claim('data', { metadata: asked }), {
      reason: 'ProvisioningFailed',
      message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
      firstAgo: 60,
      lastAgo: 5,
    });
    const { document } = await explain(host, ofData);
    expect(document.risk).toMatchObject({ level: 'possible', of: 'leak', ifYou: 'delete' });
  });

  it('[explain#71] given a namespace that is being deleted with 4,000 claims, when explained, then it waits for the claim, and only the pods of the namespace are listed', async () => {
    const host = clusterOf(waiting.slice(0, 2));
    add(host, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, deletionTimestamp: ago(host, 60) },
      spec: { finalizers: ['kubernetes'] },
    });
    for (let index = 0; index < 4_000; index += 1) add(host, claim(`claim-${index}`));
    add(
      host,
      boundClaim('data', {
        metadata: { finalizers: ['kubernetes.io/pvc-protection'], deletionTimestamp: ago(host, 60) },
      }),
      podWith('data', 'writer'),
    );
    const { document } = await explain(host, ofData);
    expect(document.sentence).toContain(`namespace ${namespace} is being deleted and waits for it`);
    expect(requestsOf(host).filter((path) => path.startsWith('list'))).toHaveLength(1);
  });
});

it('[explain#73] given a namespace of 20,000 pods, when explained, then ten pages are read, and the limit is reported', async () => {
  const host = clusterOf([storageClass('gp'), csiDriver(), boundClaim('data'), volumeOf('data')]);
  for (let index = 0; index < 20_000; index += 1) add(host, pod(`pod-${String(index).padStart(5, '0')}`));
  const { document } = await explain(host, ofData);
  expect(requestsOf(host).filter((path) => path.startsWith('list') && path.includes('/pods'))).toHaveLength(10);
  expect(document.missing).toContainEqual(expect.objectContaining({ resource: 'pods', because: 'limit' }));
});

it('[explain#74] given a volume on 400 nodes of which one fails, when explained, then at most eight pods are followed, those that wait first', async () => {
  const shared = { spec: { accessModes: ['ReadWriteMany'] } };
  const host = clusterOf([storageClass('gp'), csiDriver(), boundClaim('data', shared), volumeOf('data', shared)]);
  for (let index = 0; index < 400; index += 1) {
    const name = `node-${index}`;
    add(
      host,
      csiNode(name),
      podWith('data', `pod-${index}`, {
        spec: { nodeName: name },
        status: { phase: index === 399 ? 'Pending' : 'Running' },
      }),
    );
  }
  const { document } = await explain(host, ofData);
  expect(document.row).toBe('X49');
  expect(requestsOf(host).filter((path) => path.includes('volumeattachments')).length).toBeLessThanOrEqual(8);
});
