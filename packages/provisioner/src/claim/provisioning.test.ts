// SPDX-License-Identifier: Apache-2.0
/** Choosing claims, and provisioning without failures. */
import type { CreateVolumeRequestInput } from '@csi-sidecars/csi';
import { type PersistentVolumeClaim, type StorageClass, storageClasses } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNode, aSecret, aVolume, type ClaimFacts, driverName } from '../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import { annotations } from '../names.ts';
import { clusterRules } from '../rbac.ts';

const succeeded = [
  'Normal Provisioning team/data: External provisioner is provisioning volume for claim "team/data"',
  'Normal ProvisioningSucceeded team/data: Successfully provisioned volume pvc-uid-data',
];
const labels = { class: 'fast', source: '' };
const failures = 'controller_persistentvolumeclaim_provision_failed_total';
const successes = 'controller_persistentvolumeclaim_provision_total';

const late = aClass({ volumeBindingMode: 'WaitForFirstConsumer' });

async function withClaim(claim: ClaimFacts, storageClass = aClass()): Promise<Fixture> {
  return await aProvisioner({ seed: [storageClass, aClaim(claim)] });
}

/** All visible effects. */
function trace(p: Fixture): unknown {
  const counted = {
    failures: p.metrics.value(failures, labels) ?? 0,
    successes: p.metrics.value(successes, labels) ?? 0,
  };
  return { calls: p.calls(), writes: p.writes(), events: p.events, driverEvents: p.driverEvents, ...counted };
}
const nothing = { calls: [], writes: [], events: [], driverEvents: [], failures: 0, successes: 0 };
const provisioned = {
  ...nothing,
  calls: ['CreateVolume pvc-uid-data OK'],
  writes: ['create persistentvolumes pvc-uid-data 201'],
  events: succeeded,
  successes: 1,
};

describe('a claim of this driver', () => {
  it('given a claim, when it appears, then one call, one write, two events, and nothing is left running', async () => {
    const p = await withClaim({});
    expect(trace(p)).toEqual(provisioned);
    await p.stop();
    expect(p.clock.pending).toBe(0);
  });

  it('[provisioner#1] given claims and classes of two provisioners, when synced, then only ours is provisioned and counted', async () => {
    const other = { provisioner: 'other', metadata: { name: 'theirs', uid: 'class-2' } };
    const theirs = aClaim({
      name: 'foreign',
      annotations: { [annotations.storageProvisioner]: 'other' },
      spec: { storageClassName: 'theirs' },
    });
    const p = await aProvisioner({ seed: [aClass(), aClass(other), aClaim(), theirs] });
    expect(trace(p)).toEqual(provisioned);
    expect(p.metrics.value(successes, { class: 'theirs', source: '' })).toBeUndefined();
  });

  it.each([
    ['2', 'bound already', { spec: { volumeName: 'pv-7' } }],
    ['3', 'without annotation', { annotations: {} }],
    ['4', 'of an unknown provisioner', { annotations: { [annotations.storageProvisioner]: 'other' } }],
  ] as [string, string, ClaimFacts][])(
    '[provisioner#2,3,4] given case %s, a claim %s, when synced, then nothing happens',
    async (_case, _what, claim) => {
      expect(trace(await withClaim(claim))).toEqual(nothing);
    },
  );

  it('[provisioner#5] given the GA annotation names another and the beta one us, when synced, then nothing: the GA key takes precedence', async () => {
    const both = { [annotations.storageProvisioner]: 'other', [annotations.betaStorageProvisioner]: driverName };
    expect(trace(await withClaim({ annotations: both }))).toEqual(nothing);
  });

  it('[provisioner#6] given only the beta annotation, when synced, then provisioned', async () => {
    expect(trace(await withClaim({ annotations: { [annotations.betaStorageProvisioner]: driverName } }))).toEqual(
      provisioned,
    );
  });

  it('[provisioner#7] given the class is missing, when synced, then counted and retried without event, and provisioned as soon as it exists', async () => {
    const p = await aProvisioner({ seed: [aClaim()] });
    expect(trace(p)).toEqual({ ...nothing, failures: 1 });
    await p.clock.advance(1200);
    expect(trace(p)).toEqual({ ...nothing, failures: 2 });
    p.server.seed(aClass());
    await p.settle();
    expect(trace(p)).toEqual({ ...provisioned, failures: 2 });
  });

  it('[provisioner#21] given the class belongs to another provisioner, when synced, then stopped and counted, without event or call', async () => {
    const p = await withClaim({}, aClass({ provisioner: 'other' }));
    await p.clock.advance(60_000);
    expect(trace(p)).toEqual({ ...nothing, failures: 1 });
  });

  it('[provisioner#22] given a volume of the usual name, when synced, then no call, counted as failure', async () => {
    const p = await aProvisioner({ seed: [aClass(), aClaim(), aVolume({ phase: 'Available' })] });
    expect(trace(p)).toEqual({ ...nothing, failures: 1 });
  });

  it('[provisioner#22] given another name prefix and a volume of the usual name, when synced, then no call, counted as failure', async () => {
    const seed = [aClass(), aClaim(), aVolume({ phase: 'Available' })];
    const p = await aProvisioner({ settings: { volumeNamePrefix: 'foo' }, seed });
    expect(trace(p)).toEqual({ ...nothing, failures: 1 });
  });

  it('[provisioner#7] given the beta class annotation names a missing class, when that class appears, then the claim is provisioned at once', async () => {
    const both = { [annotations.storageProvisioner]: driverName, [annotations.betaStorageClass]: 'named' };
    const p = await aProvisioner({ seed: [aClaim({ annotations: both })] });
    p.server.seed(aClass({ metadata: { name: 'named', uid: 'class-2' } }));
    await p.settle();
    expect(p.writes()).toEqual(['create persistentvolumes pvc-uid-data 201']);
  });

  it('[provisioner#23] given another name prefix and its volume, when synced before it is bound, then no second call and no second event', async () => {
    const options: FixtureOptions = {
      settings: { volumeNamePrefix: 'foo' },
      seed: [aClass(), aClaim(), aVolume({ name: 'foo-uid-data', phase: 'Available' })],
    };
    expect(trace(await aProvisioner(options))).toEqual({ ...nothing, failures: 1 });
  });

  it('[provisioner#24] given a claim that is being deleted and still pending, when synced, then provisioned', async () => {
    expect(trace(await withClaim({ deleting: 'yes', finalizers: ['kubernetes.io/pvc-protection'] }))).toEqual(
      provisioned,
    );
  });

  it('[provisioner#25] given the beta class annotation differs from the field, when provisioned, then the annotation decides and the field is counted', async () => {
    const claim = aClaim({
      annotations: { [annotations.storageProvisioner]: driverName, [annotations.betaStorageClass]: 'fast' },
      spec: { storageClassName: 'slow' },
    });
    const p = await aProvisioner({ seed: [aClass(), claim] });
    expect(p.volume()?.spec?.storageClassName).toBe('fast');
    expect(p.metrics.value(successes, { class: 'slow', source: '' })).toBe(1);
  });

  it('[provisioner#26] given a claim that is bound while it waits in the queue, when its turn comes, then nothing happens', async () => {
    const p = await aProvisioner({ settings: { workerThreads: 1 }, seed: [aClass()] });
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'delay', ms: 5000 } });
    p.server.seed(aClaim({ name: 'first' }));
    p.server.seed(aClaim());
    await p.settle();
    p.changeClaim((claim) => ({ ...claim, spec: { ...claim.spec, volumeName: 'pv-7' } }));
    await p.clock.advance(5000);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-first OK']);
  });

  it('[provisioner#27] given a pending claim that backs off, when 15 minutes have passed, then it is attempted regardless', async () => {
    const settings = { retryIntervalStartMs: 3_600_000, retryIntervalMaxMs: 3_600_000 };
    const p = await aProvisioner({ settings, seed: [aClass()] });
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aClaim({ name: 'other' }));
    await p.settle();
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-other Internal']);
    await p.clock.advance(16 * 60_000);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-other Internal', 'CreateVolume pvc-uid-other Internal']);
  });
});

describe('late binding', () => {
  /** The requirement of strict topology: only the selected node's zone. */
  const requiredZones = async (claim: PersistentVolumeClaim, storageClass: StorageClass): Promise<unknown> => {
    const seed = [storageClass, ...aNode('n1'), ...aNode('n2'), claim];
    const p = await aProvisioner({ topology: 'on', settings: { strictTopology: true }, seed });
    const [request] = p.requests('CreateVolume') as readonly CreateVolumeRequestInput[];
    return request?.accessibility_requirements?.requisite?.map(({ segments }) => segments?.['zone']);
  };

  it.each([
    ['15', 'no selected node', {}],
    ['17', 'an empty one', { node: '' }],
    [
      '18',
      'the alpha annotation only',
      { annotations: { [annotations.storageProvisioner]: driverName, [annotations.alphaSelectedNode]: 'n1' } },
    ],
  ] as [string, string, ClaimFacts][])(
    '[provisioner#15,17,18] given case %s, %s, when synced, then nothing',
    async (_case, _what, claim) => {
      expect(trace(await withClaim(claim, late))).toEqual(nothing);
    },
  );

  it('[provisioner#16] given a selected node and either annotation key, when synced, then provisioned', async () => {
    for (const key of [annotations.storageProvisioner, annotations.betaStorageProvisioner]) {
      expect(trace(await withClaim({ annotations: { [key]: driverName }, node: 'n1' }, late))).toEqual(provisioned);
      expect(await requiredZones(aClaim({ annotations: { [key]: driverName }, node: 'n2' }), late)).toEqual(['n2']);
    }
  });

  it('[provisioner#19] given an immediate class and a selected node, when synced, then provisioned', async () => {
    expect(trace(await withClaim({ node: 'n1' }))).toEqual(provisioned);
    expect(await requiredZones(aClaim({ node: 'n2' }), aClass())).toEqual(['n2']);
  });

  it('[provisioner#20] given a class without binding mode, when synced, then it binds immediately', async () => {
    const { volumeBindingMode: _mode, ...storageClass } = aClass();
    expect(trace(await withClaim({}, storageClass))).toEqual(provisioned);
  });
});

describe('what is not provisioned yet', () => {
  it('[provisioner#158] given a source of an unknown kind, when synced, then two Normal events, no call, no retry', async () => {
    const p = await withClaim({ spec: { dataSource: { kind: 'Book', apiGroup: 'library', name: 'b' } } });
    await p.clock.advance(60_000);
    expect(p.events).toEqual(succeeded.slice(0, 1));
    expect(p.driverEvents).toEqual([
      'Normal Provisioning team/data: Assuming an external populator will provision the volume',
    ]);
    expect([p.calls(), p.metrics.value(failures, { class: 'fast', source: 'Book' })]).toEqual([[], 1]);
    expect(p.metrics.value('workqueue_retries_total', { name: 'claims' }) ?? 0).toBe(0);
    await p.clock.advance(15 * 60_000);
    expect([p.events.length, p.driverEvents.length, p.calls()]).toEqual([2, 2, []]);
  });
});

describe('the request', () => {
  it('[provisioner#163] given an attributes class, when provisioned, then its parameters apart from the class, and the volume names it', async () => {
    const gold = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttributesClass',
      metadata: { name: 'gold' },
      driverName,
      parameters: { iops: '9000' },
    };
    const storageClass = aClass({ parameters: { iops: '100' } });
    const p = await aProvisioner({
      seed: [gold, storageClass, aClaim({ spec: { volumeAttributesClassName: 'gold' } })],
    });
    expect(p.requests('CreateVolume')).toMatchObject([
      { parameters: { iops: '100' }, mutable_parameters: { iops: '9000' } },
    ]);
    expect(p.volume()?.spec?.volumeAttributesClassName).toBe('gold');
  });

  it('[provisioner#166,167] given the attributes class is missing or of another driver, when synced, then an event and a retry', async () => {
    const claim = aClaim({ spec: { volumeAttributesClassName: 'gold' } });
    const p = await aProvisioner({ seed: [aClass(), claim] });
    p.server.seed({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttributesClass',
      metadata: { name: 'gold' },
      driverName: 'other',
    } as never);
    await p.clock.advance(1200);
    expect(p.events.filter((event) => event.startsWith('Warning'))).toEqual([
      'Warning ProvisioningFailed team/data: volumeattributesclasses.storage.k8s.io "gold" not found',
      `Warning ProvisioningFailed team/data: VAC gold referenced in PVC is for driver other which does not match driver name ${driverName}`,
    ]);
    expect(p.calls()).toEqual([]);
  });

  it('[provisioner#169] given the attributes class may not be read, when synced, then the event says forbidden', async () => {
    const rules = clusterRules.filter(({ resources }) => !resources.includes('volumeattributesclasses'));
    const p = await aProvisioner({ rules, seed: [aClass()] });
    p.server.seed(aClaim({ spec: { volumeAttributesClassName: 'gold' } }));
    await p.settle();
    expect(p.events[1]).toMatch(/^Warning ProvisioningFailed .* is forbidden: /);
    expect(p.calls()).toEqual([]);
  });

  const secretive = aClass({
    parameters: {
      'csi.storage.k8s.io/provisioner-secret-name': 's',
      'csi.storage.k8s.io/provisioner-secret-namespace': 'ns',
      'csi.storage.k8s.io/node-publish-secret-name': 'absent',
      'csi.storage.k8s.io/node-publish-secret-namespace': 'ns',
    },
  });
  const secret = aSecret('vàlue');

  it('[provisioner#106,107] given the provisioner secret is missing, when synced, then retried until it exists; the node secret need not exist', async () => {
    const p = await aProvisioner({ seed: [secretive, aClaim()] });
    expect([p.events[1], p.calls()]).toEqual([
      'Warning ProvisioningFailed team/data: error getting secret s in namespace ns: secrets "s" not found',
      [],
    ]);
    p.server.seed(secret);
    await p.clock.advance(1200);
    expect(p.requests('CreateVolume')).toMatchObject([{ secrets: { key: 'vàlue' } }]);
    expect(p.volume()?.spec?.csi?.nodePublishSecretRef).toEqual({ name: 'absent', namespace: 'ns' });
  });

  it('[provisioner#113] given the default secret does not exist, when synced, then it is the provisioner secret that is missing', async () => {
    const parameters = { 'csi.storage.k8s.io/secret-name': 'd', 'csi.storage.k8s.io/secret-namespace': 'ns' };
    const p = await withClaim({}, aClass({ parameters }));
    expect(p.events[1]).toContain('error getting secret d in namespace ns');
    expect(p.calls()).toEqual([]);
  });

  it('given a secret that is not text, when synced, then the event names the secret and no part of its value', async () => {
    const binary = { ...secret, data: { key: Buffer.from([0xff, 0xfe, 0x41]).toString('base64') } };
    const p = await aProvisioner({ seed: [secretive, binary, aClaim()] });
    expect(p.events[1]).toBe(
      'Warning ProvisioningFailed team/data: error getting secret s in namespace ns: a value is not valid UTF-8',
    );
  });

  it('[provisioner#105] given a template of an annotation that the claim gets later, when it gets it, then it is retried at once', async () => {
    const parameters = {
      'csi.storage.k8s.io/node-publish-secret-name': "${pvc.annotations['who']}",
      'csi.storage.k8s.io/node-publish-secret-namespace': 'ns',
    };
    const p = await withClaim({}, aClass({ parameters }));
    expect(p.events[1]).toContain('invalid tokens');
    p.changeClaim((claim) => ({
      ...claim,
      metadata: { ...claim.metadata, annotations: { ...claim.metadata?.annotations, who: 'me' } },
    }));
    await p.settle();
    expect(p.volume()?.spec?.csi?.nodePublishSecretRef).toEqual({ name: 'me', namespace: 'ns' });
  });

  it('given the class disappears afterwards, when claims are synced again, then the volume is not changed', async () => {
    const p = await withClaim({});
    p.server.objects.remove(storageClasses, { name: 'fast' });
    await p.clock.advance(16 * 60_000);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
  });
});
