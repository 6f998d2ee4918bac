// SPDX-License-Identifier: Apache-2.0
/** The two source loops with their real caches and client, over a fake API server, in virtual time. A test plays the claim loop. */
import {
  createController,
  createTrigger,
  type KubeObject,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
} from '@csi-sidecars/runtime';
import type { AccessRule, Fault } from '@csi-sidecars/runtime/testing';
import {
  createProcess,
  createTestCluster,
  faultOn,
  type RunningController,
  type TestCluster,
} from '@csi-sidecars/test-driver/testing';
import { type VolumeSnapshot, volumeSnapshots } from '@csi-sidecars/volume';
import { snapshotTypes } from '@csi-sidecars/volume/testing';
import type { ClaimUid } from '../src/claim/claim.ts';
import { clusterRules } from '../src/rbac.ts';
import type { ProvisionerSettings } from '../src/settings.ts';
import { createSourceReferences, type SourceReferences } from '../src/source/references.ts';
import type { SourceKey } from '../src/source/source.ts';
import { createLiveClaims } from '../src/source/protection/live-claims.ts';
import { cloneSourceLoop, snapshotSourceLoop } from '../src/source/protection/loop.ts';
import type { SourceDeps } from '../src/source/protection/steps.ts';
import { watchedBy } from '../src/watched.ts';
import { aDriver, driverName, someSettings } from './builders.ts';

export interface SourcesOptions {
  readonly seed?: readonly KubeObject[];
  readonly settings?: Partial<ProvisionerSettings>;
  /** `off`: no informer of snapshots. Default `on`. */
  readonly sweep?: 'on' | 'off';
  /** Default: exactly the rules of `rbac.ts`. */
  readonly rules?: readonly AccessRule[];
  /** `missing`: the cluster does not serve them. Default `served`. */
  readonly snapshotKinds?: 'served' | 'missing';
  /** What an earlier process left. */
  readonly cluster?: TestCluster;
}

export interface Sources extends RunningController {
  readonly references: SourceReferences;
  snapshot(name?: string, namespace?: string): VolumeSnapshot | undefined;
  claim(name?: string, namespace?: string): PersistentVolumeClaim | undefined;
  /** Our finalizer and those of others, of the snapshot `daily`. */
  finalizers(): readonly string[];
  /** Requests to the API server but watches: `get volumesnapshots daily`, `list persistentvolumeclaims team`. */
  requestLines(): readonly string[];
  /** As by the PV controller. */
  bind(name: string, namespace?: string): Promise<void>;
  /** As kubectl delete. */
  remove(name: string, namespace?: string): Promise<void>;
  fault(what: string, fault: Fault, times?: number): void;
}

export async function someSources(options: SourcesOptions = {}): Promise<Sources> {
  const { seed = [], snapshotKinds = 'served', sweep = 'on' } = options;
  const cluster =
    options.cluster ??
    createTestCluster({ serviceAccount: 'csi:provisioner', rules: options.rules ?? clusterRules, driver: {} });
  if (options.cluster === undefined && snapshotKinds === 'served') cluster.server.addTypes(...snapshotTypes);
  for (const object of seed) cluster.server.seed(object);
  const settings = someSettings({
    ...options.settings,
    features: { ...someSettings().features, ...options.settings?.features, snapshotSweep: sweep === 'on' },
  });
  const process = createProcess(cluster, { name: 'csi-provisioner', interrupt: undefined });
  const sources = createTrigger<SourceKey>();
  const references = createSourceReferences(sources, cluster.clock);
  const deps: SourceDeps = { driverName, settings, references, sources, liveClaims: createLiveClaims() };
  const driver = aDriver({ controller: ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT', 'CLONE_VOLUME'] });
  const watched = watchedBy(driver, { topology: 'off', settings });
  const controller = createController(process.ports, [
    snapshotSourceLoop(deps, watched),
    cloneSourceLoop(deps, watched),
  ]);
  const running = await process.run(controller);
  const { server, faults } = running;
  const snapshot: Sources['snapshot'] = (name = 'daily', namespace = 'team') =>
    server.objects.get(volumeSnapshots, { namespace, name });
  return {
    ...running,
    references,
    snapshot,
    claim: (name = 'original', namespace = 'team') => server.objects.get(persistentVolumeClaims, { namespace, name }),
    finalizers: () => snapshot()?.metadata?.finalizers ?? [],
    requestLines: () =>
      server.requests
        .filter(({ verb }) => verb !== 'watch')
        .map(({ verb, resource, name, namespace }) => `${verb} ${resource} ${name ?? namespace ?? ''}`),
    bind: async (name, namespace = 'team') => {
      const step = async (change: (claim: PersistentVolumeClaim) => PersistentVolumeClaim): Promise<void> => {
        server.objects.change(persistentVolumeClaims, { namespace, name }, change);
        await running.settle();
      };
      await step((claim) => ({ ...claim, spec: { ...claim.spec, volumeName: `pvc-${claim.metadata?.uid ?? ''}` } }));
      await step((claim) => ({ ...claim, status: { ...claim.status, phase: 'Bound' } }));
    },
    remove: async (name, namespace = 'team') => {
      server.objects.delete(persistentVolumeClaims, { namespace, name });
      await running.settle();
    },
    fault: (what, fault, times) => void faults.push(faultOn(what, fault, times)),
  };
}

export const uid = (name: string): ClaimUid => `uid-${name}` as ClaimUid;
