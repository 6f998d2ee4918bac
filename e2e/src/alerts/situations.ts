// SPDX-License-Identifier: Apache-2.0
/** What our programs are recorded in: the healthy run, the troubles that alerts are for, and which alerts each of them is to raise. */
import {
  csiStorageCapacities,
  ignoreNotFound,
  type PersistentVolume,
  persistentVolumes,
  type StorageClass,
  storageClasses,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { allCapabilities, type Capabilities } from '@csi-sidecars/test-driver';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { startApiProxy } from '../faults/api-proxy.ts';
import type { AnnouncedDriverOptions, ScenarioContext } from '../scenarios/context.ts';
import {
  addPaperNode,
  createAttachment,
  startAttachable,
  untilAttached,
  untilDetached,
} from '../scenarios/attacher/steps.ts';
import { createClaim, createClass, deleteClaim, untilBound } from '../scenarios/provisioner/steps.ts';
import { twoZones, waitForPod } from '../scenarios/provisioner/zones.ts';
import { ask, untilSize } from '../scenarios/resizer/steps.ts';
import { createNamedClaims } from '../scenarios/availability/claims.ts';
import {
  createSnapshot,
  createSnapshotClass,
  installDefinitions,
  startPlainDriver,
  untilReady,
} from '../scenarios/snapshots/steps.ts';
import type { Firing } from './promtool.ts';
import { type Stage, type Started, untilLed, untilScrapable } from './stage.ts';

/** An interval of Prometheus, and how long it takes in a recording. */
export const intervalSeconds = 30;
export const intervalMs = 500;
/** A second of the recording is so many in the series. */
export const stretch: number = (intervalSeconds * 1000) / intervalMs;

/** A minute of the series, as a flag of a recorded program. */
const minute = `${60_000 / stretch}ms`;
/** The longest retry interval of csi-provisioner is five minutes. */
const retries: readonly string[] = ['--retry-interval-start=100ms', `--retry-interval-max=${300_000 / stretch}ms`];
/** The chart gives calls a minute. */
const provisionerArgs: readonly string[] = [`--timeout=${minute}`, ...retries];

/** Calls may last five minutes. */
const patient: readonly string[] = [`--timeout=${300_000 / stretch}ms`];

/** When the trouble begins: two minutes of the series after the first scrape. */
export const troubleAt = 4;

export interface WrittenGauge {
  readonly name: string;
  readonly container: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Situation {
  readonly id: string;
  readonly title: string;
  readonly fires: readonly Firing[];
  /** Gauges that a program sets only after a longer time than a recording lasts. */
  readonly written?: readonly WrittenGauge[];
  /** How long its series are to be. Default: an hour. */
  readonly hours?: number;
  /** How many of its last samples are repeated. Default: 24. */
  readonly tail?: number;
  /** Starts the programs, and what is to be there before the first scrape. */
  prepare(stage: Stage): Promise<void>;
  /** Begins the trouble. */
  begin?(stage: Stage): Promise<void>;
  /** Work of users from then on, until the signal aborts. */
  work?(stage: Stage, signal: AbortSignal): Promise<void>;
}

export const election = ({ namespace }: Pick<ScenarioContext, 'namespace'>): readonly string[] => [
  '--leader-election',
  `--leader-election-namespace=${namespace}`,
  // No leader is lost while a recording lasts, however slow the machine is.
  '--leader-election-lease-duration=120s',
  '--leader-election-renew-deadline=100s',
];

/** A pod with csi-provisioner, in which it leads. */
async function startProvisioner(stage: Stage, options: Started = {}): Promise<void> {
  await startReplicas(stage, [0], options);
  await untilLed(stage, 'csi-provisioner');
}

export async function startReplicas(
  { ctx, start }: Stage,
  pods: readonly number[],
  options: Started = {},
): Promise<void> {
  for (const pod of pods) {
    await start('csi-provisioner', {
      ...options,
      pod,
      replica: `controller-${pod}`,
      args: [...provisionerArgs, ...election(ctx), ...(options.args ?? [])],
    });
  }
}

const zonesBytes = 1n << 40n;

/** A driver with the capacity of two zones. */
export async function startDriverWithCapacity(
  ctx: ScenarioContext,
  options: AnnouncedDriverOptions = {},
): Promise<void> {
  const { nodes } = await twoZones(ctx);
  const pools = nodes.map(({ segments }) => ({ kind: 'ssd', totalBytes: zonesBytes, segments }));
  await ctx.startDriver({
    settings: { nodes, pools, ...options.settings },
    csiDriver: { storageCapacity: true, ...options.csiDriver },
  });
}

export const publishing = ({ namespace }: ScenarioContext): Started => ({
  args: ['--enable-capacity', '--capacity-ownerref-level=-1', `--capacity-poll-interval=${minute}`],
  env: { NAMESPACE: namespace, POD_NAME: 'controller-0' },
});

export const capacityClass: Partial<StorageClass> = { ...waitForPod, parameters: { kind: 'ssd' } };

async function untilCapacities(ctx: ScenarioContext, count: number): Promise<void> {
  await ctx.eventually(`${count} capacity objects`, async () => {
    const { items } = await ctx.api.list(csiStorageCapacities, { namespace: ctx.namespace });
    return items.length === count;
  });
}

async function untilNoVolume(ctx: ScenarioContext, name: string): Promise<void> {
  await ctx.eventually(`volume ${name} is gone`, async () => {
    return (await ctx.api.get(persistentVolumes, { name }).catch(ignoreNotFound)) === undefined;
  });
}

/** Repeats a life until the recording ends. */
export async function repeatedly(signal: AbortSignal, life: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; !signal.aborted; round += 1) await life(round);
}

export const otherSidecars = ['csi-attacher', 'csi-resizer', 'csi-snapshotter'] as const;

/** Volumes are attached by a controller, and grow without a node. */
export const attachable: Capabilities = {
  ...allCapabilities,
  node: allCapabilities.node.filter((type) => type !== 'EXPAND_VOLUME'),
};

interface Life {
  /** The name of the claim and of its snapshot. */
  readonly name: string;
  readonly className: string;
  /** The node to which the volume is attached for a while. */
  readonly nodeOf: (volume: PersistentVolume) => string;
}

/** A volume is made, attached, grown, copied to a snapshot, detached and deleted. */
export async function lifeOfVolume(ctx: ScenarioContext, { name, className, nodeOf }: Life): Promise<void> {
  await createClaim(ctx, className, { name });
  const { volume } = await untilBound(ctx, name);
  const volumeName = volume.metadata?.name ?? '';
  const attachment = await createAttachment(ctx, volumeName, { name: nodeOf(volume) });
  await untilAttached(ctx, attachment);
  await ask(ctx, '2Gi', name);
  await untilSize(ctx, '2Gi', name);
  await createSnapshot(ctx, {
    name,
    volumeSnapshotClassName: ctx.nameOf('snapshots'),
    source: { persistentVolumeClaimName: name },
  });
  await untilReady(ctx, name);
  await ctx.api.delete(volumeSnapshots, { namespace: ctx.namespace, name });
  await ctx.eventually(`snapshot ${name} is gone`, async () => {
    const ref = { namespace: ctx.namespace, name };
    return (await ctx.api.get(volumeSnapshots, ref).catch(ignoreNotFound)) === undefined;
  });
  await ctx.remove(volumeAttachments, attachment);
  await untilDetached(ctx, attachment);
  await deleteClaim(ctx, name);
  await untilNoVolume(ctx, volumeName);
}

const healthy: Situation = {
  id: 'healthy',
  title:
    'two replicas; volumes and snapshots are made, attached, grown and deleted; a call fails now and then, and is repeated',
  fires: [],
  prepare: async (stage) => {
    const { ctx, start, startLivenessprobe } = stage;
    await installDefinitions(ctx);
    await addPaperNode(ctx, 'node');
    await startAttachable(ctx, {
      settings: { nodes: 'any', capabilities: { ...attachable, plugin: ['CONTROLLER_SERVICE'] } },
    });
    await startReplicas(stage, [0, 1]);
    await start('snapshot-controller', { args: election(ctx) });
    for (const name of otherSidecars) await start(name, { args: election(ctx) });
    for (const name of ['csi-provisioner', ...otherSidecars]) await untilLed(stage, name);
    await startLivenessprobe();
    await createClass(ctx, { allowVolumeExpansion: true });
    await createSnapshotClass(ctx);
  },
  work: async ({ ctx }, signal) => {
    const failOnce = async (method: string): Promise<void> => {
      await ctx.driver.control.addFault({ method, action: { kind: 'fail', code: 'Internal' }, times: 1 });
    };
    await repeatedly(signal, async (round) => {
      const name = `claim-${round}`;
      if (round % 6 === 1) await failOnce('CreateVolume');
      // Early, so that it is not repeated: four of them in half an hour are an alert.
      if (round === 0) await failOnce('DeleteVolume');
      await lifeOfVolume(ctx, { name, className: ctx.nameOf('class'), nodeOf: () => ctx.nameOf('node') });
    });
  },
};

const healthyCapacity: Situation = {
  id: 'capacity',
  title: 'capacity of two zones is published, classes come and go',
  fires: [],
  prepare: async (stage) => {
    await startDriverWithCapacity(stage.ctx);
    await startProvisioner(stage, publishing(stage.ctx));
    await createClass(stage.ctx, capacityClass);
    await untilCapacities(stage.ctx, 2);
  },
  work: async ({ ctx }, signal) => {
    await repeatedly(signal, async (round) => {
      const name = await createClass(ctx, capacityClass, `class-${round}`);
      await untilCapacities(ctx, 4);
      await ctx.api.delete(storageClasses, { name });
      await untilCapacities(ctx, 2);
      await ctx.testRun.clock.sleep(2_000, signal);
    });
  },
};

const driverDown: Situation = {
  id: 'driver-down',
  title: 'the process of the driver ends and does not come back',
  fires: [
    // It ends, and waits for the driver half a minute in each further run: half an hour of the series, so there are few restarts.
    { alert: 'CSISidecarDown', container: 'csi-provisioner' },
    { alert: 'CSINodePluginUnavailable' },
  ],
  prepare: async (stage) => {
    await startPlainDriver(stage.ctx);
    await startProvisioner(stage);
    await stage.startLivenessprobe();
    await createClass(stage.ctx);
  },
  begin: async ({ ctx }) => {
    await ctx.driver.process.destroy();
  },
};

const slowDriver: Situation = {
  id: 'slow-driver',
  title: 'the driver takes one and a half of the five minutes that a call may last',
  fires: [{ alert: 'CSIOperationSlow' }],
  prepare: async (stage) => {
    await startPlainDriver(stage.ctx);
    await startProvisioner(stage, { args: patient });
    await createClass(stage.ctx);
  },
  begin: async ({ ctx }) => {
    const action = { kind: 'delay', ms: 90_000 / stretch } as const;
    for (const method of ['CreateVolume', 'DeleteVolume']) await ctx.driver.control.addFault({ method, action });
  },
  work: volumesComeAndGo,
};

async function volumesComeAndGo({ ctx }: Stage, signal: AbortSignal): Promise<void> {
  await repeatedly(signal, async (round) => {
    const name = `claim-${round}`;
    await createClaim(ctx, ctx.nameOf('class'), { name });
    const { volume } = await untilBound(ctx, name);
    await deleteClaim(ctx, name);
    await untilNoVolume(ctx, volume.metadata?.name ?? '');
  });
}

const noLeader: Situation = {
  id: 'no-leader',
  title: 'the replicas may not write their Lease',
  fires: [{ alert: 'CSISidecarNoLeader', container: 'csi-provisioner' }],
  prepare: async (stage) => {
    const { ctx } = stage;
    const { controlPlane, clock } = ctx.testRun;
    const proxy = ctx.cleanUp.use(await startApiProxy(controlPlane, clock));
    proxy.addRule({
      when: ({ resource, verb }) => resource === 'leases' && !['get', 'list', 'watch'].includes(verb),
      fault: { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' },
      times: Infinity,
    });
    await startPlainDriver(ctx);
    await startReplicas(stage, [0, 1], { server: proxy.url });
  },
};

const twoLeaders: Situation = {
  id: 'two-leaders',
  title: 'a roll-out moves the Lease to another namespace, and its first pod leads beside an old one',
  fires: [{ alert: 'CSISidecarTwoLeaders', container: 'csi-provisioner' }],
  prepare: async (stage) => {
    const { ctx, start } = stage;
    await startPlainDriver(ctx);
    const { adminKubeconfig } = ctx.testRun.controlPlane;
    for (const [pod, namespace] of [ctx.namespace, 'default'].entries()) {
      await start('csi-provisioner', {
        pod,
        replica: `controller-${pod}`,
        args: [...provisionerArgs, ...election({ namespace })],
        // Its own account has rights in the first namespace only.
        connect: () => Promise.resolve({ before: [], args: [`--kubeconfig=${adminKubeconfig}`], env: {} }),
      });
    }
    await untilLed(stage, 'csi-provisioner', 2);
  },
};

/** More than are served while a recording lasts. */
const manyClaims = 200;

const backlog: Situation = {
  id: 'backlog',
  title: 'more claims than one worker and a driver of a quarter of a minute for each can serve',
  fires: [{ alert: 'CSIQueueBacklog', container: 'csi-provisioner' }],
  prepare: async (stage) => {
    await startPlainDriver(stage.ctx);
    await startProvisioner(stage, { args: [...patient, '--worker-threads=1'] });
    await createClass(stage.ctx);
  },
  begin: async ({ ctx }) => {
    const action = { kind: 'delay', ms: 15_000 / stretch } as const;
    await ctx.driver.control.addFault({ method: 'CreateVolume', action });
    const names = Array.from({ length: manyClaims }, (_, index) => `claim-${index}`);
    await createNamedClaims(ctx, ctx.nameOf('class'), names);
  },
};

const backendDown: Situation = {
  id: 'backend-down',
  title: 'the driver answers, but every call for its backend fails',
  fires: [
    { alert: 'CSIOperationErrors' },
    { alert: 'CSIDriverUnreachable' },
    { alert: 'CSIProvisioningFailing', container: 'csi-provisioner' },
    { alert: 'CSIDeleteFailing', container: 'csi-provisioner' },
    { alert: 'CSICapacityIncomplete', container: 'csi-provisioner' },
  ],
  prepare: async (stage) => {
    const { ctx } = stage;
    await startDriverWithCapacity(ctx);
    await startProvisioner(stage, publishing(ctx));
    const className = await createClass(ctx, { parameters: { kind: 'ssd' } });
    for (const name of ['old-0', 'old-1']) await createClaim(ctx, className, { name });
    for (const name of ['old-0', 'old-1']) await untilBound(ctx, name);
  },
  begin: async ({ ctx }) => {
    const action = { kind: 'fail', code: 'Unavailable', message: 'the backend does not answer' } as const;
    for (const method of ['CreateVolume', 'DeleteVolume', 'GetCapacity']) {
      await ctx.driver.control.addFault({ method, action });
    }
    for (const name of ['old-0', 'old-1']) await deleteClaim(ctx, name);
    for (const name of ['new-0', 'new-1']) await createClaim(ctx, ctx.nameOf('class'), { name });
    await createClass(ctx, capacityClass, 'late');
  },
};

const obsoleteCapacity: Situation = {
  id: 'obsolete-capacity',
  title: 'csi-provisioner may not delete capacity objects, and a class is deleted',
  fires: [{ alert: 'CSICapacityObsolete', container: 'csi-provisioner' }],
  prepare: async (stage) => {
    const { ctx } = stage;
    const { controlPlane, clock } = ctx.testRun;
    const proxy = ctx.cleanUp.use(await startApiProxy(controlPlane, clock));
    proxy.addRule({
      when: ({ resource, verb }) => resource === 'csistoragecapacities' && verb === 'delete',
      fault: { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' },
      times: Infinity,
    });
    await startDriverWithCapacity(ctx);
    await startProvisioner(stage, { ...publishing(ctx), server: proxy.url });
    await createClass(ctx, capacityClass);
    await untilCapacities(ctx, 2);
  },
  begin: async ({ ctx }) => {
    await ctx.remove(storageClasses, ctx.nameOf('class'));
  },
};

const backendDiffers: Situation = {
  id: 'backend-differs',
  title: 'the audit has found a volume in the backend that no object names',
  fires: [{ alert: 'CSIAuditFindings', container: 'csi-provisioner' }],
  // Two passes, ten minutes apart at least.
  written: [
    {
      name: 'csi_sidecars_audit_findings',
      container: 'csi-provisioner',
      labels: { kind: 'volumes', class: 'unrecorded' },
      value: 1,
    },
  ],
  prepare: async (stage) => {
    await startPlainDriver(stage.ctx);
    await startProvisioner(stage);
  },
};

const healthMonitor = 'csi-external-health-monitor-controller';

const unhealthy: Situation = {
  id: 'unhealthy',
  title:
    'the driver reports a volume as inaccessible, and the account of the health monitor may not write the status of its claim',
  fires: [{ alert: 'CSIVolumeUnhealthy' }, { alert: 'CSIVolumeHealthNotStored' }],
  prepare: async (stage) => {
    const { ctx, start } = stage;
    const { controlPlane, clock } = ctx.testRun;
    const proxy = ctx.cleanUp.use(await startApiProxy(controlPlane, clock));
    proxy.addRule({
      when: ({ resource, verb }) => resource === 'persistentvolumeclaims' && verb === 'patch',
      fault: { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' },
      times: Infinity,
    });
    await startPlainDriver(ctx);
    await startProvisioner(stage);
    await start(healthMonitor, { server: proxy.url, args: ['--list-volumes-interval=1s'] });
    await createClaim(ctx, await createClass(ctx));
    const { volume } = await untilBound(ctx);
    const entry = { status: 'INACCESSIBLE', reason: 'NoPath', message: 'no path to the storage' } as const;
    await ctx.driver.control.setHealth(volume.spec?.csi?.volumeHandle ?? '', [entry]);
  },
};

const outdated: Situation = {
  id: 'outdated',
  title:
    'the driver has not reported about all volumes for hours, a certificate is about to end, and a claim names an unknown kind of source',
  hours: 2.5,
  fires: [
    { alert: 'CSIVolumeHealthOutdated' },
    { alert: 'CSISnapshotMetadataCertificate', container: 'csi-snapshot-metadata' },
    { alert: 'CSIUnknownDataSource', container: 'snapshot-controller' },
  ],
  // The series begin at the time 0.
  written: [
    { name: 'csi_sidecars_health_last_cycle_timestamp_seconds', container: healthMonitor, labels: {}, value: 1 },
    {
      name: 'snapshot_metadata_controller_certificate_expiry_seconds',
      container: 'csi-snapshot-metadata',
      labels: {},
      value: 500_000,
    },
    { name: 'csi_sidecars_claims_with_unknown_source', container: 'snapshot-controller', labels: {}, value: 1 },
  ],
  prepare: async (stage) => {
    await startPlainDriver(stage.ctx);
    await startProvisioner(stage);
  },
};

const stuck: Situation = {
  id: 'stuck',
  title: 'calls for a volume and a snapshot hang, and hours are allowed for them',
  hours: 2.5,
  // When the calls have lasted for long.
  tail: 6,
  fires: [
    { alert: 'CSIQueueStuck', container: 'csi-provisioner' },
    { alert: 'CSIQueueStuck', container: 'csi-snapshotter' },
    { alert: 'CSISnapshotStuck', container: 'snapshot-controller' },
  ],
  prepare: async (stage) => {
    const { ctx, start } = stage;
    await installDefinitions(ctx);
    await startPlainDriver(ctx);
    await startProvisioner(stage, { args: ['--timeout=120s'] });
    await start('csi-snapshotter', { args: ['--timeout=120s'] });
    await start('snapshot-controller');
    await createClaim(ctx, await createClass(ctx));
    await untilBound(ctx);
    const volumeSnapshotClassName = await createSnapshotClass(ctx);
    for (const method of ['CreateVolume', 'CreateSnapshot']) {
      await ctx.driver.control.addFault({ method, action: { kind: 'hang' } });
    }
    await createClaim(ctx, ctx.nameOf('class'), { name: 'hanging' });
    await createSnapshot(ctx, { volumeSnapshotClassName });
    await ctx.eventually('both calls hang', async () =>
      (await ctx.driver.control.faults()).every(({ hanging }) => hanging === 1),
    );
  },
};

const newPod: Situation = {
  id: 'new-pod',
  title: 'a new pod of snapshot-controller begins with a snapshot under way, which takes ten minutes',
  fires: [],
  prepare: async ({ ctx, start }) => {
    await installDefinitions(ctx);
    await startPlainDriver(ctx);
    await start('csi-provisioner', { args: provisionerArgs });
    await start('csi-snapshotter', { args: ['--timeout=120s'] });
    await createClaim(ctx, await createClass(ctx));
    await untilBound(ctx);
    const action = { kind: 'delay', ms: 600_000 / stretch } as const;
    await ctx.driver.control.addFault({ method: 'CreateSnapshot', action });
    await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
    await start('snapshot-controller');
    await ctx.eventually(
      'the snapshot is being taken',
      async () => (await ctx.driver.control.faults())[0]?.acted === 1,
    );
  },
};

const frozenController: Situation = {
  id: 'frozen-controller',
  title: 'snapshot-controller is there, and does not answer',
  fires: [{ alert: 'CSISidecarDown', container: 'snapshot-controller' }],
  prepare: async ({ ctx, start }) => {
    await installDefinitions(ctx);
    await startPlainDriver(ctx);
    await start('snapshot-controller');
  },
  begin: ({ watched }) => {
    for (const { process } of watched) process.signal('SIGSTOP');
    return Promise.resolve();
  },
};

const crashes: Situation = {
  id: 'crashes',
  title: 'csi-resizer and snapshot-controller end a minute after each start',
  fires: [
    { alert: 'CSISidecarRestarting', container: 'csi-resizer' },
    { alert: 'CSISidecarRestarting', container: 'snapshot-controller' },
  ],
  prepare: async ({ ctx, start }) => {
    await installDefinitions(ctx);
    await startPlainDriver(ctx);
    await start('csi-resizer');
    await start('snapshot-controller');
  },
  work: async (stage, signal) => {
    const { ctx, watched } = stage;
    await repeatedly(signal, async () => {
      await Promise.all(watched.map(({ process }) => process.kill()));
      await untilScrapable(stage);
      await ctx.testRun.clock.sleep(1_000, signal);
    });
  },
};

export const situations: readonly Situation[] = [
  healthy,
  healthyCapacity,
  driverDown,
  slowDriver,
  noLeader,
  twoLeaders,
  backlog,
  backendDown,
  obsoleteCapacity,
  backendDiffers,
  unhealthy,
  outdated,
  stuck,
  newPod,
  frozenController,
  crashes,
];
