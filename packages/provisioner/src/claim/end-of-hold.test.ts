// SPDX-License-Identifier: Apache-2.0
/** What stays of a claim after its last run: the claim loop alone, with a memory that the test looks at. */
import {
  createController,
  createTrigger,
  definedOnly,
  type Logger,
  persistentVolumeClaims,
} from '@csi-sidecars/runtime';
import { driverInfoOf } from '@csi-sidecars/test-driver';
import { createProcess, faultOn, recordedEvents } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNodeDeployment, driverName, someSettings } from '../../testing/builders.ts';
import { aProvisioner } from '../../testing/provisioner-fixture.ts';
import { copying, fromSnapshot, prepareSources } from '../../testing/sources.ts';
import { noCapacity } from '../capacity/change.ts';
import { createProvisionerMetrics } from '../metrics.ts';
import { instanceAnnotation } from '../names.ts';
import { createOwnership } from '../ownership.ts';
import type { ProvisionerSettings } from '../settings.ts';
import { createSourceReferences } from '../source/references.ts';
import { watchedBy } from '../watched.ts';
import { uidOf } from './claim.ts';
import { createInstanceWaits } from './instance-waits.ts';
import { claimLoop } from './loop.ts';
import { createClaimMemory } from './memory.ts';
import type { ClaimDeps } from './state.ts';

const daily = { kind: 'snapshot', namespace: 'team', name: 'daily' } as const;

interface Options {
  readonly settings?: Partial<ProvisionerSettings>;
  /** Runs throw at this row. */
  readonly throwAt?: string;
  /** How long CreateVolume takes. */
  readonly callMs?: number;
}

async function aClaimLoop({ settings: changed, throwAt, callMs = 0 }: Options) {
  const prepared = await aProvisioner({ controller: copying, seed: [aClass()] });
  await prepareSources(prepared);
  const cluster = prepared.crash();
  const defects = throwAt === undefined ? 'fail' : 'expected';
  const running = createProcess(cluster, { name: 'csi-provisioner', interrupt: undefined, defects });
  const { ports, death } = running;
  const woken: string[] = [];
  const { recorder: events } = recordedEvents(death);
  const settings = someSettings(changed);
  const driver = driverInfoOf(cluster.driver.settings);
  const deps: ClaimDeps = {
    driver,
    settings,
    supportsTopology: false,
    channel: ports.channel,
    events,
    driverEvents: events,
    metrics: createProvisionerMetrics(ports.metrics),
    memory: createClaimMemory(),
    references: createSourceReferences({ wake: (key) => void woken.push(key) }, ports.clock),
    ownership: createOwnership(ports, settings.node),
    instanceWaits: createInstanceWaits(ports.clock),
    reschedules: createOwnership(ports),
    saves: createTrigger(),
    claims: createTrigger(),
    capacity: noCapacity,
  };
  const throwing: Logger = {
    ...ports.logger,
    info: (_level, message, facts) => {
      if (message === 'Decided' && facts?.['row'] === throwAt) throw new Error('a defect');
    },
    with: () => throwing,
  };
  const watched = watchedBy(driver, { topology: 'off', settings });
  const loop = claimLoop(deps, watched, ports.clock);
  const p = await running.run(createController({ ...ports, logger: throwing }, [loop]));
  p.driver.faults.add({ method: 'CreateVolume', at: 'before', action: { kind: 'delay', ms: callMs } });
  const fails = (code: 'Aborted' | 'Internal' | 'OutOfRange', times?: number): void =>
    void p.driver.faults.add({
      method: 'CreateVolume',
      at: 'during',
      ...definedOnly({ times }),
      action: { kind: 'fail', code },
    });
  const slow = (what: string): void => void p.faults.push(faultOn(what, { kind: 'lag', ms: 2_000 }));
  const removeClaim = (): void => p.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  return { ...p, deps, woken, fails, slow, removeClaim };
}

interface End {
  readonly calls: readonly string[];
  /** How many claims hold the snapshot. */
  readonly references: number;
  /** The sources that were woken. */
  readonly woken: readonly string[];
}

/** After a run of a restore that throws at this row. */
async function afterThrowAt(row: string): Promise<End> {
  const p = await aClaimLoop({ throwAt: row });
  p.server.seed(aClaim({ spec: fromSnapshot }));
  await p.settle();
  return { calls: p.calls(), references: p.deps.references.count(daily), woken: p.woken };
}

it('[provisioner#X3] given a run that throws before the call, then the claim no longer holds its source, and the source is looked at', async () => {
  expect(await afterThrowAt('C22')).toEqual({ calls: [], references: 0, woken: ['snapshot/team/daily'] });
});

it('[provisioner#X3] given a run that throws while a volume exists that is not recorded, then the claim still holds its source', async () => {
  const calls = ['CreateVolume pvc-uid-data OK'];
  expect(await afterThrowAt('C31')).toEqual({ calls, references: 1, woken: [] });
});

describe('a claim that leaves the cache before the last answer of its run', () => {
  const claimUid = uidOf(aClaim());

  it('[provisioner#230] given it is given up, and the watch shows its end before the answer, then its failure is not remembered', async () => {
    const p = await aClaimLoop({ settings: { timeoutMs: 60_000 }, callMs: 25_000 });
    p.fails('Aborted', 1);
    p.fails('Internal');
    p.server.seed(aClaim());
    await p.clock.advance(25_500);
    p.server.objects.delete(persistentVolumeClaims, { namespace: 'team', name: 'data' });
    p.slow('update persistentvolumeclaims');
    await p.clock.advance(120_000);
    expect(p.server.objects.list(persistentVolumeClaims).map(uidOf)).not.toContain(claimUid);
    expect([p.deps.references.stateOf(claimUid), p.deps.memory.get(claimUid)]).toEqual(['unknown', undefined]);
  });

  it('[provisioner#230] given its finalizer is removed by force during the call, and the write after the answer fails, then its outcome is not remembered', async () => {
    const p = await aClaimLoop({ settings: { provisioningProtection: 'always' }, callMs: 2_000 });
    p.fails('OutOfRange');
    p.server.seed(aClaim());
    await p.settle();
    p.faults.push(faultOn('update persistentvolumeclaims', { kind: 'status', point: 'before', code: 500 }));
    p.removeClaim();
    await p.clock.advance(120_000);
    expect(p.calls()).toEqual(['CreateVolume pvc-uid-data OutOfRange']);
    expect(p.deps.memory.get(claimUid)).toBeUndefined();
  });

  it('[provisioner#230] given the instance of another node is to settle it, and it goes while that Node is read, then its wait is not remembered', async () => {
    const p = await aClaimLoop({ settings: { node: aNodeDeployment('n1') } });
    const annotations = { ...aClaim().metadata?.annotations, [instanceAnnotation(driverName)]: 'n2' };
    p.server.seed(aClaim({ node: 'n1', protection: 'on', annotations }));
    p.slow('get nodes');
    await p.settle();
    p.removeClaim();
    await p.clock.advance(600_000);
    expect(p.server.requests.filter(({ resource }) => resource === 'nodes').length).toBe(1);
    const look = { node: 'n2', presence: 'gone', isDeleted: false, breakMs: 3_600_000 } as const;
    expect(p.deps.instanceWaits.looked(claimUid, look).goneForMs).toBe(0);
  });
});
