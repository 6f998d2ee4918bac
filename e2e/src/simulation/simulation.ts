// SPDX-License-Identifier: Apache-2.0
/**
 * Everything that outlives a process: the simulated cluster, the driver's model, virtual time, and the checks at every step.
 * Users act with `sim.client` and wait with `until`.
 */
import {
  csiStorageCapacities,
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttachments,
  type PersistentVolumeClaim,
} from '@csi-sidecars/runtime';
import {
  FakeClock,
  script,
  seededRandom,
  type Fault,
  type FaultRule,
  type FaultTarget,
} from '@csi-sidecars/runtime/testing';
import { paperDriver, startSim, type Sim } from '@csi-sidecars/sim';
import { allCapabilities, createDriverModel, defaultSettings, type DriverModel } from '@csi-sidecars/test-driver';
import { createStepChecks, type StepChecks } from './invariants.ts';
import { snapshotState } from './snapshot-invariants.ts';

export const driverName: string = defaultSettings.name;
export const namespace = 'default';
const zoneKey = 'topology.example.com/zone';

export interface TakingSnapshots {
  /** How long it takes until a snapshot is ready. */
  readonly processingMs: number;
}

/** Whether the node has a part in it. */
export type Expanding = 'without node' | 'with node';

export interface SimulationOptions {
  /** Zones with one node each. Default none: the driver has no topology then. */
  readonly zones?: readonly string[];
  /** Names of nodes that volumes are attached to. Default none: the driver cannot attach then. */
  readonly attachTo?: readonly string[];
  /** Default: the driver takes no snapshots. */
  readonly snapshots?: TakingSnapshots | undefined;
  /** Default: the driver clones nothing. */
  readonly clones?: 'volumes' | undefined;
  /** Default: the driver does not expand volumes. */
  readonly expands?: Expanding | undefined;
  /** Default: the driver does not report capacity. */
  readonly capacity?: 'reported' | undefined;
  readonly seed?: number;
}

/** The driver's id of a node. */
export function nodeIdOf(name: string): string {
  return `id-${name}`;
}

export interface Simulation {
  readonly clock: FakeClock;
  readonly sim: Sim;
  readonly driver: DriverModel;
  readonly checks: StepChecks;
  /** Faults of the API server towards the provisioner. */
  readonly apiFaults: FaultRule[];
  readonly faultAt: (target: FaultTarget) => Fault | undefined;
  /** The driver dies and is started again a little later. */
  crashDriver(): void;
  readonly isDriverUp: boolean;
  createClaim(name: string, spec?: Partial<PersistentVolumeClaim['spec']>): Promise<void>;
  deleteClaim(name: string): Promise<void>;
  claim(name: string): PersistentVolumeClaim | undefined;
  isBound(name: string): boolean;
  /** Advances time until the condition holds; false if it never does. */
  until(condition: () => boolean, limitMs?: number): Promise<boolean>;
  /** The visible result: objects and volumes, without fields that differ from run to run. */
  endState(): readonly string[];
  stop(): Promise<void>;
}

const driverRestartMs = 500;
const attachCapabilities = ['PUBLISH_UNPUBLISH_VOLUME', 'LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'] as const;

export function createSimulation({
  zones = [],
  attachTo = [],
  expands,
  snapshots,
  clones,
  capacity,
  seed = 1,
}: SimulationOptions = {}): Simulation {
  const clock = new FakeClock();
  const nodes = [
    ...zones.map((zone) => ({
      name: `node-${zone}`,
      drivers: [paperDriver(driverName, { nodeId: `id-${zone}`, topology: { [zoneKey]: zone } })],
    })),
    ...attachTo.map((name) => ({ name, drivers: [paperDriver(driverName, { nodeId: nodeIdOf(name) })] })),
  ];
  const sim = startSim({ clock, random: seededRandom(seed), nodes });
  const { server, client } = sim;
  const plugin = allCapabilities.plugin.filter(
    (name) => zones.length > 0 || name !== 'VOLUME_ACCESSIBILITY_CONSTRAINTS',
  );
  const controller = [
    'CREATE_DELETE_VOLUME' as const,
    'MODIFY_VOLUME' as const,
    ...(attachTo.length > 0 ? attachCapabilities : []),
    ...(expands === undefined ? [] : ['EXPAND_VOLUME' as const]),
    ...(clones === undefined ? [] : ['CLONE_VOLUME' as const]),
    ...(capacity === undefined ? [] : ['GET_CAPACITY' as const]),
    ...(snapshots === undefined ? [] : (['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'] as const)),
  ];
  const node = allCapabilities.node.filter((type) => expands !== 'without node' || type !== 'EXPAND_VOLUME');
  const capabilities = { ...allCapabilities, plugin, controller, node };
  const driver = createDriverModel({
    clock,
    settings: {
      capabilities,
      snapshotProcessingMs: snapshots?.processingMs ?? 0,
      nodes: [
        ...zones.map((zone) => ({ id: `id-${zone}`, segments: { [zoneKey]: zone }, maxVolumes: 0 })),
        ...attachTo.map((name) => ({ id: nodeIdOf(name), segments: {}, maxVolumes: 0 })),
      ],
    },
  });
  const checks = createStepChecks({ server, driver });
  const apiFaults: FaultRule[] = [];
  const names = new Map<string, string>();
  let isDriverUp = true;
  const claim = (name: string): PersistentVolumeClaim | undefined =>
    server.objects.get(persistentVolumeClaims, { namespace, name });

  return {
    clock,
    sim,
    driver,
    checks,
    apiFaults,
    faultAt: script(apiFaults),
    crashDriver() {
      if (!isDriverUp) return;
      isDriverUp = false;
      driver.crash();
      clock.timer(driverRestartMs, () => {
        driver.restart();
        isDriverUp = true;
      });
    },
    get isDriverUp() {
      return isDriverUp;
    },
    async createClaim(name, spec = {}) {
      const created = await client.create(persistentVolumeClaims, {
        metadata: { namespace, name },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'fast',
          resources: { requests: { storage: '5Gi' } },
          ...spec,
        },
      });
      names.set(created.metadata?.uid ?? '', name);
    },
    async deleteClaim(name) {
      await client.delete(persistentVolumeClaims, { namespace, name });
    },
    claim,
    isBound: (name) => claim(name)?.status?.phase === 'Bound',
    async until(condition, limitMs = 1_800_000) {
      const endMs = clock.monotonicMs() + limitMs;
      for (;;) {
        await clock.advance(0);
        if (condition()) return true;
        if (clock.monotonicMs() > endMs || !(await clock.advanceToNext())) return false;
      }
    },
    endState() {
      const handles = new Map(driver.volumes().map(({ id, name }) => [id, name]));
      const lines = [
        ...server.objects.list(persistentVolumeClaims).map(({ metadata, spec, status }) => {
          const { name, finalizers, annotations } = metadata ?? {};
          const known = { finalizers, annotations: inOrder(annotations), volume: spec?.volumeName };
          // Fields stand in the order in which they were written.
          return { claim: name, ...known, status: inOrder(status) };
        }),
        ...server.objects.list(persistentVolumes).map(({ metadata, spec, status }) => {
          const { name, finalizers, annotations } = metadata ?? {};
          const { claimRef, csi, ...rest } = spec ?? {};
          const handle = handles.get(csi?.volumeHandle ?? '');
          const known = {
            finalizers: finalizers?.toSorted(),
            annotations: inOrder(annotations),
            claim: claimRef?.name,
            handle,
          };
          return { volume: name, ...known, ...rest, phase: status?.phase };
        }),
        ...server.objects.list(volumeAttachments).map(({ metadata, spec, status }) => {
          // Its name is derived from volume and node, so it adds no information.
          const { finalizers, annotations } = metadata ?? {};
          return { attachment: spec, finalizers, annotations: inOrder(annotations), status };
        }),
        ...snapshotState({ server, driver }),
        // The name is the server's.
        ...server.objects.list(csiStorageCapacities).map(({ metadata, storageClassName, nodeTopology, ...sizes }) => ({
          capacity: sizes.capacity,
          maximum: sizes.maximumVolumeSize,
          class: storageClassName,
          segment: nodeTopology?.matchLabels,
          labels: inOrder(metadata?.labels),
          owners: metadata?.ownerReferences?.map(({ name }) => name),
        })),
        ...driver.volumes().map(({ name, phase, capacityBytes, mutableParameters, attachments }) => ({
          held: name,
          phase,
          bytes: `${capacityBytes}`,
          parameters: inOrder(mutableParameters),
          on: attachments.map(({ nodeId }) => nodeId),
        })),
      ].map((line) => JSON.stringify(line));
      const named = [...names].reduce(
        (text, [uid, name]) => text.replaceAll(uid, `<uid of ${name}>`),
        lines.join('\n'),
      );
      // Several claims may be served in any order.
      return withZonesInOrder(named, zones).split('\n').toSorted();
    },
    stop: sim.stop,
  };
}

/** Which zone was chosen is random, but all objects must agree on it: zones are numbered in the order in which they appear. */
function withZonesInOrder(text: string, zones: readonly string[]): string {
  const seen = zones.filter((zone) => text.includes(zone)).toSorted((a, b) => text.indexOf(a) - text.indexOf(b));
  return seen.reduce((result, zone, index) => result.replaceAll(zone, `<zone ${index + 1}>`), text);
}

function inOrder(map: object | undefined): readonly (readonly [string, unknown])[] {
  return Object.entries(map ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
