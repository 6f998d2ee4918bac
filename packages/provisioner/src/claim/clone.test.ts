// SPDX-License-Identifier: Apache-2.0
/** A claim that is cloned from another claim, from the claim to the PersistentVolume. */
import type { CreateVolumeRequestInput } from '@csi-sidecars/csi';
import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import type { Fault } from '@csi-sidecars/runtime/testing';
import { faultOn } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aGrant, type ClaimFacts, someSettings } from '../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import {
  answerWithOrigin,
  copying,
  finalizersOf,
  fromClaim,
  prepareSources,
  type SourceFacts,
} from '../../testing/sources.ts';
import { cloningProtection } from '../names.ts';

const prefix = 'Warning ProvisioningFailed team/data: ';
const handle = `${prefix}error getting handle for DataSource Type PersistentVolumeClaim by Name origin: `;
const protection = 'kubernetes.io/pvc-protection';
const forbidden: Fault = { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' };

interface Story extends SourceFacts {
  readonly fixture?: FixtureOptions;
  readonly prepare?: (p: Fixture) => void;
  readonly claim?: ClaimFacts;
}

async function clone({ fixture, prepare, claim, ...facts }: Story = {}): Promise<Fixture> {
  const p = await aProvisioner({ controller: copying, ...fixture });
  await prepareSources(p, facts);
  prepare?.(p);
  p.server.seed(aClaim(claim ?? { spec: fromClaim }));
  await p.settle();
  return p;
}
const warnings = ({ events }: Fixture): readonly string[] => events.filter((line) => line.startsWith('Warning'));
const originOf = ({ server }: Fixture, namespace = 'team'): PersistentVolumeClaim | undefined =>
  server.objects.get(persistentVolumeClaims, { namespace, name: 'origin' });
const originGets = ({ server }: Fixture): number =>
  server.requests.filter(({ verb, path }) => verb === 'get' && path.endsWith('/persistentvolumeclaims/origin')).length;

describe('a clone', () => {
  it('[provisioner#137] given a bound claim, when another names it, then it is protected before CreateVolume names its volume', async () => {
    const p = await clone();
    expect(p.writes().slice(0, 2)).toEqual([
      'update persistentvolumeclaims team/origin 200',
      'create persistentvolumes pvc-uid-data 201',
    ]);
    const put = p.server.writes()[0]?.body as PersistentVolumeClaim;
    expect(finalizersOf(put)).toEqual([protection, cloningProtection]);
    const [request] = p.requests('CreateVolume') as readonly CreateVolumeRequestInput[];
    const origin = p.server.objects.get(persistentVolumes, { name: 'pv-origin' });
    expect(request?.volume_content_source).toMatchObject({ volume: { volume_id: origin?.spec?.csi?.volumeHandle } });
    expect([p.calls(), warnings(p)]).toEqual([['CreateVolume pvc-uid-data OK'], []]);
  });

  it('[O6] given a driver that answers with the volume of the source, then neither a record of it nor its deletion is written', async () => {
    const p = await clone({ prepare: answerWithOrigin });
    expect([p.calls(), p.volume()]).toEqual([['CreateVolume pvc-uid-data OK'], undefined]);
    expect(warnings(p)).toEqual([
      expect.stringContaining(`${prefix}CreateVolume response has the volume_id of the source`),
    ]);
  });

  it('given the source has the finalizer, then it is not written', async () => {
    const p = await clone({ origin: { finalizers: [cloningProtection] } });
    expect(p.writes()[0]).toBe('create persistentvolumes pvc-uid-data 201');
  });

  it('[provisioner#X3a] given 20 claims of one source at the same time, then the source and its volume are read once and protected once, and all are cloned', async () => {
    const p = await clone({
      prepare: ({ server }) => {
        for (let at = 1; at < 20; at += 1) server.seed(aClaim({ name: `data-${at}`, spec: fromClaim }));
      },
    });
    const origin = p.server.requests.filter(({ path }) => /\/(origin|pv-origin)$/.test(path));
    expect(origin.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`)).toEqual([
      'get persistentvolumeclaims 200',
      'get persistentvolumes 200',
      'update persistentvolumeclaims 200',
    ]);
    expect(p.server.objects.list(persistentVolumes)).toHaveLength(21);
  });

  it('[provisioner#138] given a driver without CLONE_VOLUME, then the claim fails before the source is read', async () => {
    const p = await clone({ fixture: { controller: ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT'] } });
    expect([p.calls(), originGets(p), finalizersOf(originOf(p))]).toEqual([[], 0, [protection]]);
    expect(warnings(p)).toEqual([
      `${prefix}CSI driver does not support clone operations: controller CLONE_VOLUME capability is not reported`,
    ]);
  });

  it('[provisioner#139] given classes that differ, then the claim is cloned', async () => {
    const p = await clone({ origin: { spec: { storageClassName: 'slow' } } });
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
  });

  it('[provisioner#140] given a volume smaller than requested, then it is deleted, and the claim is retried', async () => {
    const set = { volume: { capacity_bytes: '1' } };
    const p = await clone({
      prepare: ({ driver }) =>
        void driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'answer', set } }),
    });
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK', expect.stringMatching(/^DeleteVolume .* OK$/)]);
    expect(finalizersOf(originOf(p))).toEqual([protection, cloningProtection]);
  });

  it('[provisioner#141] given a claim smaller than its source, then there is no call and no finalizer', async () => {
    const p = await clone({ claim: { spec: { ...fromClaim, resources: { requests: { storage: '1Gi' } } } } });
    expect([p.calls(), finalizersOf(originOf(p))]).toEqual([[], [protection]]);
    expect(warnings(p)).toEqual([expect.stringContaining(`${handle}error, new PVC request must be greater`)]);
  });

  it('[provisioner#144] given a source whose volume is gone, then the event says why after the text of upstream', async () => {
    const p = await clone({
      prepare: ({ server }) => server.objects.remove(persistentVolumes, { name: 'pv-origin' }),
    });
    expect(warnings(p)).toEqual([
      expect.stringContaining(
        `${handle}claim in dataSource not bound or invalid: error getting volume pv-origin for PVC team/origin: `,
      ),
    ]);
  });

  it('given the update of the source is forbidden, then there is no call, and the claim is retried', async () => {
    const p = await clone({
      prepare: ({ faults }) => void faults.push(faultOn('update persistentvolumeclaims', forbidden)),
    });
    expect([p.calls(), warnings(p).length]).toEqual([[], 1]);
    await p.clock.advance(1200);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
  });

  it('[provisioner#151] given the claim of another namespace and a grant, then it is cloned, and the source protected where it is', async () => {
    const features = { ...someSettings().features, crossNamespaceVolumeDataSource: true };
    const grant = aGrant('store', { group: '', kind: 'PersistentVolumeClaim' });
    const p = await clone({
      namespace: 'store',
      fixture: { settings: { features }, seed: [aClass(), grant] },
      claim: { spec: { dataSourceRef: { ...fromClaim.dataSource, namespace: 'store' } } },
    });
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OK']);
    expect(p.server.writes()[0]?.path).toContain('/namespaces/store/persistentvolumeclaims/origin');
  });
});

describe('a source that is being deleted', () => {
  it('[provisioner#147,X7] given a clone under way, when its source is deleted, then the clone goes on', async () => {
    const failOnce = ({ driver }: Fixture, code: 'Aborted' | 'Internal'): void =>
      void driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code } });
    const p = await clone({ prepare: (fixture) => failOnce(fixture, 'Aborted') });
    failOnce(p, 'Internal');
    p.server.objects.delete(persistentVolumeClaims, { namespace: 'team', name: 'origin' });
    await p.settle();
    await p.clock.advance(10_000);
    expect(p.calls()).toEqual([
      'CreateVolume pvc-uid-data Aborted',
      'CreateVolume pvc-uid-data Internal',
      'CreateVolume pvc-uid-data OK',
    ]);
    expect(p.volume()?.metadata?.name).toBe('pvc-uid-data');
  });

  it('given no finalizer of ours on the source, then there is no call', async () => {
    const p = await clone({ origin: { deleting: 'yes', finalizers: [protection] } });
    expect([p.calls(), warnings(p)]).toEqual([[], [`${handle}the PVC DataSource origin is currently being deleted`]]);
  });
});
