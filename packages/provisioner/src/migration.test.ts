// SPDX-License-Identifier: Apache-2.0
/** Claims and volumes of an in-tree plugin, served by the driver that replaced it, from the claim to the end of the volume. */
import type { CreateVolumeRequestInput } from '@csi-sidecars/csi';
import { type KubeObject, type PersistentVolume, persistentVolumes, type StorageClass } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aBoundVolume, aClaim, aClass, aVolume, type ClaimFacts, type VolumeFacts } from '../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../testing/provisioner-fixture.ts';
import { playController, untilQuiet } from '../testing/pv-controller.ts';
import { copying, fromClaim, fromSnapshot, prepareSources } from '../testing/sources.ts';
import { annotations, provisioningFinalizer, volumeFinalizer } from './names.ts';

const ebs = 'ebs.csi.aws.com';
const plugin = 'kubernetes.io/aws-ebs';
const gcePd = 'pd.csi.storage.gke.io';

const inTreeClass = (change: Partial<StorageClass> = {}): StorageClass =>
  aClass({
    provisioner: plugin,
    parameters: { fsType: 'xfs', iopsPerGB: '10' },
    mountOptions: ['noatime'],
    ...change,
  });
const names = (provisioner: string, migratedTo?: string): ClaimFacts => ({
  annotations: {
    [annotations.storageProvisioner]: provisioner,
    ...(migratedTo === undefined ? {} : { [annotations.migratedTo]: migratedTo }),
  },
});

interface Facts extends FixtureOptions {
  readonly driver?: string;
  readonly claim?: ClaimFacts;
  readonly storageClass?: StorageClass;
  readonly others?: readonly KubeObject[];
}

async function provision({ driver = ebs, claim, storageClass = inTreeClass(), others = [], model, ...options }: Facts) {
  const seed = [storageClass, aClaim(claim ?? names(driver)), ...others];
  return await aProvisioner({ ...options, model: { ...model, name: driver }, seed });
}
const sent = (p: Fixture): CreateVolumeRequestInput | undefined =>
  (p.requests('CreateVolume') as readonly CreateVolumeRequestInput[])[0];

describe('a claim of the plugin', () => {
  it.each([
    ['8', 'names the plugin and is migrated to us', names(plugin, ebs)],
    ['9', 'names us', names(ebs)],
    ['13', 'names us and is migrated to us', names(ebs, ebs)],
  ])(
    '[provisioner#8,9,13] given case %s, a claim that %s, when synced, then the class is translated, and the volume is recorded in tree',
    async (_case, _what, claim) => {
      const p = await provision({ claim });
      expect(sent(p)?.parameters).toEqual({ iopsPerGB: '10', allowautoiopspergbincrease: 'true' });
      expect(sent(p)?.volume_capabilities?.[0]?.mount).toMatchObject({ fs_type: 'xfs', mount_flags: ['noatime'] });
      const [volume] = p.driver.volumes();
      const { metadata, spec } = p.volume() ?? {};
      expect(spec?.awsElasticBlockStore).toEqual({ volumeID: volume?.id, fsType: 'xfs' });
      expect([spec?.csi, spec?.mountOptions, metadata?.finalizers]).toEqual([
        undefined,
        ['noatime'],
        [volumeFinalizer],
      ]);
      expect(metadata?.annotations?.[annotations.provisionedBy]).toBe(plugin);
      expect(p.events.at(-1)).toBe(
        'Normal ProvisioningSucceeded team/data: Successfully provisioned volume pvc-uid-data',
      );
    },
  );

  it.each([
    ['10', 'names the plugin alone', names(plugin)],
    ['11', 'names the plugin and is migrated to another driver', names(plugin, gcePd)],
    ['12', 'names another provisioner and is migrated to that one', names('foo', 'foo')],
    ['12', 'names another provisioner and is migrated to us', names('foo', ebs)],
  ])(
    '[provisioner#10,11,12] given case %s, a claim that %s, when synced, then nothing',
    async (_case, _what, claim) => {
      const p = await provision({ claim });
      expect([p.calls(), p.writes(), p.events]).toEqual([[], [], []]);
    },
  );

  it('[provisioner#14] given a class that names the driver, when synced, then it is not translated, and the volume is a CSI one', async () => {
    const p = await provision({ storageClass: inTreeClass({ provisioner: ebs }) });
    expect(sent(p)?.parameters).toEqual({ fsType: 'xfs', iopsPerGB: '10' });
    expect(p.volume()?.spec?.csi?.driver).toBe(ebs);
    expect(p.volume()?.metadata?.annotations?.[annotations.provisionedBy]).toBe(ebs);
  });

  it('[C14] [provisioner#I1] given zones twice, when synced, then an event that says so, and no call', async () => {
    const allowedTopologies = [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['a'] }] }];
    const p = await provision({ storageClass: inTreeClass({ parameters: { zone: 'a' }, allowedTopologies }) });
    expect(p.events.at(-1)).toBe(
      'Warning ProvisioningFailed team/data: failed to translate storage class: cannot simultaneously set allowed topologies and zone/zones parameters',
    );
    expect(p.calls()).toEqual([]);
  });

  it('[provisioner#I2] given zones and a driver with topology, when synced, then its keys in the request, labels of Kubernetes in the record', async () => {
    const key = 'topology.ebs.csi.aws.com/zone';
    const segments = { [key]: 'us-east-1a' };
    const storageClass = inTreeClass({ parameters: { zones: 'us-east-1a' } });
    const p = await provision({
      storageClass,
      topology: 'on',
      model: {
        nodes: [
          { id: 'n1', segments, maxVolumes: 0 },
          { id: 'n2', segments: { [key]: 'us-east-1b' }, maxVolumes: 0 },
        ],
      },
    });
    expect(p.events.filter((line) => line.startsWith('Warning'))).toEqual([]);
    const requisite = sent(p)?.accessibility_requirements?.requisite;
    expect(requisite).toEqual([{ segments }]);
    const affinity = p.volume()?.spec?.nodeAffinity?.required?.nodeSelectorTerms;
    const labels = { 'topology.kubernetes.io/zone': 'us-east-1a', 'topology.kubernetes.io/region': 'us-east-1' };
    expect(affinity).toEqual([
      {
        matchExpressions: Object.entries(labels).map(([label, value]) => ({
          key: label,
          operator: 'In',
          values: [value],
        })),
      },
    ]);
    expect(p.volume()?.metadata?.labels).toEqual(labels);
  });

  it('[provisioner#I2] given Portworx, whose translated class names the driver, when synced, then the record names the plugin', async () => {
    const p = await provision({
      driver: 'pxd.portworx.com',
      storageClass: inTreeClass({ provisioner: 'kubernetes.io/portworx-volume', parameters: {} }),
    });
    expect(p.volume()?.metadata?.annotations?.[annotations.provisionedBy]).toBe('kubernetes.io/portworx-volume');
    expect(p.volume()?.spec?.portworxVolume?.volumeID).toBe(p.driver.volumes()[0]?.id);
  });
});

describe('[provisioner#I3] a volume that cannot be recorded in tree', () => {
  const gce = { driver: gcePd, storageClass: inTreeClass({ provisioner: 'kubernetes.io/gce-pd', parameters: {} }) };
  const why = 'failed to get id components.Got: 1, wanted 6 components or more. ';

  it('[provisioner#177] [O11] given a handle that names no disk, when made, then it is deleted again, and the claim is retried with an event', async () => {
    const p = await provision(gce);
    const [made, gone, ...others] = p.calls();
    expect([made, gone, others]).toEqual([
      'CreateVolume pvc-uid-data OK',
      expect.stringMatching(/^DeleteVolume .* OK$/),
      [],
    ]);
    expect([p.driver.volumes(), p.volume(), p.writes()]).toEqual([[], undefined, []]);
    expect(p.events.at(-1)).toBe(`Warning ProvisioningFailed team/data: ${why}`);
    await p.clock.advance(1200);
    expect(p.calls()).toHaveLength(4);
    expect(p.driver.volumes()).toEqual([]);
  });

  it('[provisioner#177] given its deletion fails, when retried, then the claim is protected, and nothing is left once the driver deletes', async () => {
    const p = await aProvisioner({ model: { name: gcePd }, seed: [gce.storageClass] });
    p.driver.faults.add({ method: 'DeleteVolume', times: 5, action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aClaim(names(gcePd)));
    await p.settle();
    expect(p.claim()?.metadata?.finalizers).toEqual([provisioningFinalizer(gcePd)]);
    expect(p.events.at(-1)).toContain(`${why}. cleanup of volume pvc-uid-data failed, volume is orphaned: `);
    p.deleteClaim();
    await untilQuiet(p);
    expect([p.driver.volumes(), p.claim(), p.volume()]).toEqual([[], undefined, undefined]);
  });

  it('given the claim is deleted meanwhile, when the volume is deleted, then the claim goes at once', async () => {
    const p = await aProvisioner({ model: { name: gcePd }, seed: [gce.storageClass] });
    p.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms: 12_000 } });
    p.server.seed(aClaim(names(gcePd)));
    await p.clock.advance(11_000);
    p.deleteClaim();
    await untilQuiet(p);
    expect([p.driver.volumes(), p.claim()]).toEqual([[], undefined]);
  });
});

describe('a volume of the plugin', () => {
  const inTree = (facts: VolumeFacts = {}): PersistentVolume =>
    aVolume({
      annotations: { [annotations.provisionedBy]: plugin },
      finalizers: [volumeFinalizer],
      ...facts,
      spec: { csi: undefined as never, awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1' }, ...facts.spec },
    });
  const withVolume = async (volume: PersistentVolume, storageClass = inTreeClass()): Promise<Fixture> =>
    await aProvisioner({ model: { name: ebs }, seed: [storageClass, volume] });

  it('[provisioner#202] given it is released, when synced, then it is deleted by the translated handle', async () => {
    const p = await withVolume(inTree());
    expect(p.calls()).toEqual(['DeleteVolume vol-1 OK']);
    expect(p.volume()).toBeUndefined();
  });

  it('[provisioner#202] given a GCE disk in a zone, when released, then the labels are part of the handle, also from the cache', async () => {
    const volume = inTree({
      annotations: { [annotations.provisionedBy]: 'kubernetes.io/gce-pd' },
      spec: { awsElasticBlockStore: undefined as never, gcePersistentDisk: { pdName: 'd' } },
    });
    const labels = { 'topology.kubernetes.io/zone': 'us-east1-b' };
    const p = await aProvisioner({
      model: { name: gcePd },
      seed: [{ ...volume, metadata: { ...volume.metadata, labels } }],
    });
    expect(p.calls()).toEqual(['DeleteVolume projects/UNSPECIFIED/zones/us-east1-b/disks/d OK']);
  });

  it('[provisioner#202] given an Azure file share, when released, then annotation and claim are part of the handle', async () => {
    const volume = inTree({
      annotations: {
        [annotations.provisionedBy]: 'kubernetes.io/azure-file',
        'kubernetes.io/azure-file-resource-group': 'rg',
      },
      spec: { awsElasticBlockStore: undefined as never, azureFile: { secretName: 's', shareName: 'share' } },
    });
    const p = await aProvisioner({ model: { name: 'file.csi.azure.com' }, seed: [volume] });
    expect(p.calls()).toEqual(['DeleteVolume rg#s#share#pvc-uid-data#team OK']);
  });

  it.each([
    { migratedTo: ebs, finalizers: [volumeFinalizer] },
    { migratedTo: gcePd, finalizers: [] },
    { migratedTo: undefined, finalizers: [] },
  ])(
    '[provisioner#185] given a bound static one that is migrated to $migratedTo, when synced, then its finalizers are $finalizers',
    async ({ migratedTo, finalizers }) => {
      const found = migratedTo === undefined ? {} : { [annotations.migratedTo]: migratedTo };
      const p = await withVolume(inTree({ annotations: found, finalizers: [], phase: 'Bound' }));
      expect(p.volume()!.metadata?.finalizers ?? []).toEqual(finalizers);
    },
  );

  it('[provisioner#I5] given a class of the plugin with a secret, when released without annotations, then the secret of the translated class is sent', async () => {
    const storageClass = inTreeClass({
      provisioner: 'kubernetes.io/portworx-volume',
      parameters: { 'openstorage.io/auth-secret-name': 'auth', 'openstorage.io/auth-secret-namespace': 'px' },
    });
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'auth', namespace: 'px' },
      data: { k: 'dg==' },
    };
    const volume = inTree({
      annotations: { [annotations.provisionedBy]: 'kubernetes.io/portworx-volume' },
      spec: { awsElasticBlockStore: undefined as never, portworxVolume: { volumeID: '42' } },
    });
    const p = await aProvisioner({ model: { name: 'pxd.portworx.com' }, seed: [storageClass, secret, volume] });
    expect(p.requests('DeleteVolume')[0]).toMatchObject({ volume_id: '42', secrets: { k: 'v' } });
  });

  it('given a claim of the plugin, when its volume is made and released, then nothing is left', async () => {
    const p = await provision({});
    playController(p);
    await p.settle();
    p.deleteClaim();
    await untilQuiet(p);
    expect([p.driver.volumes(), p.server.objects.list(persistentVolumes)]).toEqual([[], []]);
  });

  it('[provisioner#I4] given the answer to its create was lost, when repeated, then the record that exists is the same volume', async () => {
    const p = await aProvisioner({ model: { name: ebs }, seed: [inTreeClass()] });
    p.faults.push({
      when: ({ verb, resource }) => verb === 'create' && resource === 'persistentvolumes',
      times: 1,
      fault: { kind: 'break', point: 'after', failure: 'eof' },
    });
    p.server.seed(aClaim(names(ebs)));
    await p.clock.advance(5_000);
    expect(p.events.at(-1)).toBe(
      'Normal ProvisioningSucceeded team/data: Successfully provisioned volume pvc-uid-data',
    );
    expect(p.driver.volumes()).toHaveLength(1);
  });

  it('[provisioner#I4] given a driver that answers with a volume that is too small and in use, when it is recorded in tree, then it is not deleted', async () => {
    const p = await aProvisioner({ model: { name: ebs }, seed: [inTreeClass()] });
    p.server.seed(inTree({ name: 'theirs', phase: 'Bound', spec: { awsElasticBlockStore: { volumeID: 'vol-1' } } }));
    await p.settle();
    const answer = { volume: { volume_id: 'vol-1', capacity_bytes: '80' } };
    p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'answer', set: answer } });
    p.server.seed(aClaim(names(ebs)));
    await p.settle();
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
    expect(p.events.at(-1)).toContain('because PersistentVolume theirs has it');
  });
});

describe('[provisioner#I6] a copy for a class of the plugin', () => {
  const copy = async (spec: ClaimFacts['spec'], change?: (p: Fixture) => void): Promise<Fixture> => {
    const p = await aProvisioner({ model: { name: ebs }, controller: copying, seed: [inTreeClass()] });
    await prepareSources(p);
    change?.(p);
    p.server.seed(aClaim({ ...names(ebs), ...(spec === undefined ? {} : { spec }) }));
    await p.settle();
    return p;
  };

  it('[provisioner#135] given a snapshot of the driver, when restored, then the volume is recorded in tree', async () => {
    const p = await copy(fromSnapshot);
    expect(p.events.filter((line) => line.startsWith('Warning'))).toEqual([]);
    expect(p.volume()?.spec?.awsElasticBlockStore?.volumeID).toBeDefined();
  });

  it('given a volume of the driver, whichever way it is recorded, when cloned, then its handle is the source', async () => {
    const native = await copy(fromClaim);
    const inTree = await copy(fromClaim, ({ server, driver }) => {
      const [origin] = driver.volumes();
      server.objects.change(persistentVolumes, { name: 'pv-origin' }, (volume) => {
        const { csi: _csi, ...spec } = aBoundVolume().spec ?? {};
        return { ...volume, spec: { ...spec, awsElasticBlockStore: { volumeID: origin?.id ?? '' } } };
      });
    });
    for (const p of [native, inTree]) {
      const source = sent(p)?.volume_content_source?.volume?.volume_id;
      expect([source, p.events.filter((line) => line.startsWith('Warning'))]).toEqual([expect.any(String), []]);
      expect(p.volume()?.spec?.awsElasticBlockStore).toBeDefined();
    }
  });
});
