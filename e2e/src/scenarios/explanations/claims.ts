// SPDX-License-Identifier: Apache-2.0
/** O-06: what `csi-sidecars explain` says about claims that are not bound, on a real API server. The numbers are those of docs/behaviour/explain.md. */
import assert from 'node:assert/strict';
import { pods } from '@csi-sidecars/runtime';
import { stubDriver } from '@csi-sidecars/sim';
import type { FaultAction } from '@csi-sidecars/test-driver';
import { addEmulatedNodes } from '../../nodes/emulated-node.ts';
import type { SupervisedProcess } from '../../processes/supervised-process.ts';
import { leaseMs, leaseOf, startReplica } from '../availability/replicas.ts';
import type { ScenarioContext } from '../context.ts';
import { aPod } from '../objects.ts';
import { deletePod } from '../pods.ts';
import { createClaim, createClass, deleteClaim, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { minuteMs, readSecrets, startExplaining, type Explains } from './explaining.ts';
import { createProgramPod, writePodStatus } from './program-pods.ts';

const late = { volumeBindingMode: 'WaitForFirstConsumer' } as const;
/** A call that hangs does so until its fault is removed. */
const quick = ['--retry-interval-start=500ms', '--retry-interval-max=2s', '--timeout=5m'];

export const explainClaims: readonly Scenario[] = [
  {
    id: 'O-06',
    title:
      'csi-sidecars explain: a claim without a pod, a wrong class, a secret or a topology that is missing, refusals, a csi-provisioner that is absent, dead or out of memory: row, turn, exit code and sentence',
    needs: ['rbac', 'controller-manager', 'scheduler', 'driver-faults', 'driver-settings', 'host-names'],
    restarts: true,
    run: async (ctx) => {
      const explains = await startExplaining(ctx);
      await ctx.startDriver({ csiDriver: { attachRequired: true } });
      const className = await createClass(ctx);
      await waitForPods(ctx, explains);
      await nameWhatIsMissing(ctx, explains, className);
      const leader = await failInTheDriver(ctx, explains, className);
      await loseTheLeader(ctx, explains, { className, leader });
      await runOutOfMemory(ctx, explains, className);
    },
  },
];

/** Cases 1, 2, 9 and 10: claims that are bound late. */
async function waitForPods(ctx: ScenarioContext, explains: Explains): Promise<void> {
  const key = `topology.${ctx.driverName}/zone`;
  const topologies: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'node-a': { [key]: 'a' },
    'node-b': { [key]: 'b' },
    'node-c': {},
  };
  const [node, , bare] = await addEmulatedNodes(
    ctx,
    Object.entries(topologies).map(([what, topology]) => {
      const name = ctx.nameOf(what);
      return { name, driver: stubDriver(ctx.driverName, { nodeId: name, topology }) };
    }),
  );
  const className = await createClass(ctx, late, 'late');

  await createClaim(ctx, className, { name: 'unused' });
  const unused = await explains('pvc/unused', {
    row: 'X15',
    code: 3,
    actor: 'user',
    sentence: 'waits for the first pod that uses it; that is normal',
  });
  assert.equal(unused.risk.level, 'none');
  assert.deepEqual(unused.next?.command, ['kubectl', 'get', 'pods', '-n', ctx.namespace]);

  await createClaim(ctx, className, { name: 'bypassed' });
  await ctx.create(pods, aPod('pinned', 'bypassed', { nodeName: node!.name }));
  await explains('pvc/bypassed', {
    row: 'X17',
    code: 4,
    actor: 'user',
    sentence: 'pod pinned has spec.nodeName: no scheduler chooses a node, so none is ever selected for the claim',
  });

  const allowedTopologies = [{ matchLabelExpressions: [{ key, values: ['c'] }] }];
  await createClaim(ctx, await createClass(ctx, { ...late, allowedTopologies }, 'zone-c'), { name: 'zoned' });
  await ctx.create(pods, aPod('zoned', 'zoned'));
  await explains('pvc/zoned', {
    row: 'X19',
    code: 4,
    actor: 'administrator',
    sentence: 'no node has a topology that class NS-zone-c allows: topology.DRIVER/zone: wanted c, there a, b',
  });

  await createClaim(ctx, className, { name: 'selected' });
  const nodeSelector = { 'kubernetes.io/hostname': bare!.name };
  await ctx.create(pods, aPod('selected', 'selected', { nodeSelector }));
  await explains('pvc/selected', {
    row: 'X19',
    code: 4,
    actor: 'administrator',
    sentence: 'node NS-node-c was selected, and DRIVER has no topology on it; other nodes have topology.DRIVER/zone',
    findings: ['topo-3'],
  });
  // The driver has no topology of its own: csi-provisioner would make the volume, which no csi-attacher detaches in the end.
  await deletePod(ctx, 'selected');
  await deleteClaim(ctx, 'selected');
}

/** Cases 4, 5 and 7, and objects that do not exist. No csi-provisioner runs. */
async function nameWhatIsMissing(ctx: ScenarioContext, explains: Explains, className: string): Promise<void> {
  await explains('pvc/nothing', {
    row: 'X1',
    code: 6,
    actor: 'nobody',
    sentence: 'PersistentVolumeClaim NS/nothing does not exist',
  });
  await createClaim(ctx, 'a-class-that-is-not-there', { name: 'classless' });
  await explains('pvc/classless', {
    row: 'X13',
    code: 4,
    actor: 'user',
    sentence: 'class a-class-that-is-not-there does not exist',
  });
  const misspelt = await createClass(ctx, { provisioner: `${ctx.driverName}x` }, 'misspelt');
  await createClaim(ctx, misspelt, { name: 'misspelt' });
  await explains('pvc/misspelt', {
    row: 'X14',
    code: 4,
    actor: 'administrator',
    sentence: 'the provisioner of class NS-misspelt, DRIVERx, is no CSI driver of this cluster; there is DRIVER',
  });
  await createClaim(ctx, className, { name: 'data' });
  await explains('pvc/data', {
    row: 'X6',
    code: 4,
    actor: 'administrator',
    sentence: 'no csi-provisioner of DRIVER was found: no Lease, and no workload that runs it',
  });
  const parameters = {
    'csi.storage.k8s.io/provisioner-secret-name': 'credentials',
    'csi.storage.k8s.io/provisioner-secret-namespace': ctx.namespace,
  };
  await createClaim(ctx, await createClass(ctx, { parameters }, 'secret'), { name: 'secret' });
  await explains('pvc/secret', {
    row: 'X23',
    code: 4,
    actor: 'administrator',
    sentence: 'secret NS/credentials, which class NS-secret names, does not exist',
  });
}

/** Cases 6, 22 and 38. */
async function failInTheDriver(
  ctx: ScenarioContext,
  explains: Explains,
  className: string,
): Promise<SupervisedProcess> {
  const failures: Readonly<Record<string, FaultAction>> = {
    refused: { kind: 'fail', code: 'InvalidArgument', message: 'pool p1 does not exist' },
    busy: { kind: 'fail', code: 'Aborted', message: 'an operation is under way' },
    throttled: { kind: 'fail', code: 'Unavailable', message: 'RequestLimitExceeded: slow down' },
  };
  for (const [name, action] of Object.entries(failures)) {
    const { metadata } = await createClaim(ctx, className, { name });
    await ctx.driver.control.addFault({ method: 'CreateVolume', volume: `pvc-${metadata?.uid}`, action });
  }
  await ctx.grant('csi-provisioner', 'secrets', [readSecrets]);
  const leader = await startReplica(ctx, { name: 'replica-a', args: quick });

  const refused = await explains('pvc/refused', {
    row: 'X25',
    code: 4,
    actor: 'administrator',
    sentence: 'the driver has refused CreateVolume N times',
  });
  assert.equal(refused.error?.code, 3);
  assert.match(refused.error.text, /pool p1 does not exist$/);
  const waits = 'an earlier call for the volume has not ended';
  await explains('pvc/busy', { row: 'X28', code: 3, actor: 'driver', sentence: waits });
  await explains('pvc/busy', { row: 'X27', code: 4, actor: 'storage', sentence: waits }, { laterMs: 7 * minuteMs });
  const throttled = await explains('pvc/throttled', {
    row: 'X28',
    code: 3,
    actor: 'driver',
    sentence: 'CreateVolume has failed N times, and it is open whether DRIVER made the volume',
    findings: ['load-1'],
  });
  assert.equal(throttled.retry?.earliest, throttled.error?.at);
  assert.ok((throttled.retry?.latest ?? '') > (throttled.retry?.earliest ?? ''));
  await ctx.driver.control.clearFaults();
  return leader;
}

interface Led {
  readonly className: string;
  readonly leader: SupervisedProcess;
}

/** Case 3. The Lease of a process that is killed is not released. */
async function loseTheLeader(ctx: ScenarioContext, explains: Explains, { className, leader }: Led): Promise<void> {
  await untilBound(ctx, 'data');
  await leader.destroy();
  const { spec } = await leaseOf(ctx, 'csi-provisioner');
  await createClaim(ctx, className, { name: 'later' });
  const dead = await explains(
    'pvc/later',
    {
      row: 'X5',
      code: 4,
      actor: 'administrator',
      sentence: 'nobody leads csi-provisioner of DRIVER: Lease NS/DRIVER was last renewed by replica-a',
    },
    { laterMs: 22 * minuteMs },
  );
  assert.equal(dead.turn?.alive, 'no');
  const endMs = Date.parse(spec?.renewTime ?? '') + leaseMs;
  assert.ok(Math.abs(Date.parse(dead.turn.since) - endMs) < 1_000, `${dead.turn.since} is the end of the Lease`);
  assert.deepEqual(dead.next?.command, ['kubectl', 'get', 'pods', '-n', ctx.namespace]);
}

/** Case 37. */
async function runOutOfMemory(ctx: ScenarioContext, explains: Explains, className: string): Promise<void> {
  const name = 'replica-b';
  await startReplica(ctx, { name, args: quick });
  await untilBound(ctx, 'later');
  await explains('pvc/later', {
    row: 'X40',
    code: 0,
    actor: 'nobody',
    sentence: 'the claim is bound, and no pod uses it',
  });

  await ctx.driver.control.addFault({ method: 'CreateVolume', action: { kind: 'hang' } });
  await createClaim(ctx, className, { name: 'hanging' });
  const asked = await explains('pvc/hanging', {
    row: 'X31',
    code: 3,
    actor: 'csi-provisioner',
    sentence: 'csi-provisioner was asked for a volume; a call to the driver may be under way',
  });
  assert.equal(asked.turn?.alive, 'yes');
  await createProgramPod(ctx, { name, program: 'csi-provisioner', memoryLimit: '64Mi' });
  const finishedAt = new Date(ctx.testRun.clock.nowMs()).toISOString();
  await writePodStatus(ctx, name, {
    containerStatuses: [
      {
        name: 'csi-provisioner',
        image: 'none',
        imageID: '',
        ready: true,
        restartCount: 6,
        state: { running: {} },
        lastState: { terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt } },
      },
    ],
  });
  await explains('pvc/hanging', {
    row: 'X7',
    code: 4,
    actor: 'administrator',
    sentence:
      'csi-provisioner of DRIVER does not stay up: container csi-provisioner of pod replica-b has restarted N times, exit code 137 (OOMKilled), memory limit 64Mi',
  });
  await ctx.driver.control.clearFaults();
}
