// SPDX-License-Identifier: Apache-2.0
/** Log lines for operators, with upstream's levels and words. */
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aVolume, driverName } from '../testing/builders.ts';
import { aProvisioner, type Fixture } from '../testing/provisioner-fixture.ts';
import { volumeFinalizer } from './names.ts';

const facts = { PVC: 'team/data', StorageClass: 'fast', PV: 'pvc-uid-data' };
const linesOf = (p: Fixture, ...messages: readonly string[]): readonly unknown[] =>
  p.logger.lines.filter(({ message }) => messages.some((start) => message.startsWith(start)));

describe('claims', () => {
  it('[provisioner#L1] given a claim, when provisioned, then its start and its success are logged at level 4', async () => {
    const p = await aProvisioner({ seed: [aClass(), aClaim()] });
    expect(linesOf(p, 'Started', 'Succeeded')).toEqual([
      { kind: 'info', level: 4, message: 'Started', facts },
      { kind: 'info', level: 4, message: 'Succeeded', facts },
    ]);
  });

  it('[provisioner#L2] given a failure, when retried, then the line names the claim and not only its UID', async () => {
    const p = await aProvisioner({ seed: [aClass()] });
    p.driver.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aClaim());
    await p.settle();
    expect(linesOf(p, 'Retrying', 'Reconcile')).toMatchObject([
      { kind: 'error', message: 'Retrying syncing claim', facts: { PVC: 'team/data', key: 'uid-data', failures: 1 } },
    ]);
  });

  it('[provisioner#L2] given a claim that is gone, when its call is retried, then the line still names it', async () => {
    const p = await aProvisioner({ seed: [aClass()] });
    p.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms: 12_000 } });
    p.server.seed(aClaim());
    await p.settle();
    p.deleteClaim();
    await p.clock.advance(10_000);
    expect(linesOf(p, 'Retrying')).toMatchObject([{ facts: { PVC: 'team/data', key: 'uid-data' } }]);
  });

  it.each([
    ['a refusal', 'InvalidArgument', { level: 2, message: 'Detected infeasible volume provisioning request', facts }],
  ] as const)("[provisioner#L1] given %s, when answered, then upstream's line", async (_what, code, line) => {
    const p = await aProvisioner({ seed: [aClass()] });
    p.driver.faults.add({ method: 'CreateVolume', action: { kind: 'fail', code } });
    p.server.seed(aClaim());
    await p.settle();
    expect(linesOf(p, line.message)).toEqual([{ kind: 'info', ...line }]);
  });

  it('[provisioner#L1] given a volume that exists, or a class of another provisioner, when stopped, then one line gives the reason', async () => {
    const existing = await aProvisioner({ seed: [aClass(), aClaim(), aVolume({ phase: 'Available' })] });
    expect(linesOf(existing, 'PersistentVolume already')).toMatchObject([{ kind: 'info', level: 4, facts }]);
    const foreign = await aProvisioner({ seed: [aClass({ provisioner: 'other' }), aClaim()] });
    expect(linesOf(foreign, 'Unknown provisioner')).toMatchObject([
      { kind: 'error', facts: { ...facts, provisioner: 'other' } },
    ]);
  });
});

describe('volumes', () => {
  const onlyOurs = { finalizers: [volumeFinalizer] };
  const attachment = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: 'va' },
    spec: { attacher: driverName, nodeName: 'n1', source: { persistentVolumeName: 'pvc-uid-data' } },
    status: { attached: true },
  } as never;

  it('[provisioner#L1] given a released volume, when deleted, then start, deletion and success are logged at level 4', async () => {
    const p = await aProvisioner({ seed: [aVolume(onlyOurs)] });
    expect(linesOf(p, 'Started', 'Volume deleted', 'PersistentVolume deleted')).toEqual(
      ['Started', 'Volume deleted', 'PersistentVolume deleted succeeded'].map((message) => ({
        kind: 'info',
        level: 4,
        message,
        facts: { PV: 'pvc-uid-data' },
      })),
    );
  });

  it('[provisioner#L3] given an attachment, when the deletion is postponed, then the line is not an error', async () => {
    const controller = ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME'] as const;
    const p = await aProvisioner({ controller, seed: [aVolume(), attachment] });
    expect(p.logger.lines.filter(({ kind }) => kind !== 'info')).toEqual([]);
    expect(linesOf(p, 'Retrying')).toMatchObject([
      { level: 2, message: 'Retrying syncing volume: postponed', facts: { PV: 'pvc-uid-data', failures: 1 } },
    ]);
  });

  it('[provisioner#L2] given a failure, when the deletion is retried, then one error line names the volume', async () => {
    const p = await aProvisioner();
    p.driver.faults.add({ method: 'DeleteVolume', times: 1, action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aVolume(onlyOurs));
    await p.settle();
    expect(linesOf(p, 'Retrying')).toMatchObject([
      { kind: 'error', message: 'Retrying syncing volume', facts: { PV: 'pvc-uid-data' } },
    ]);
  });
});
