// SPDX-License-Identifier: Apache-2.0
/**
 * The rights that a sidecar needs, from the tables of our programs. They are those of upstream's newest releases as well; since when, is in
 * upstream-rights.ts. What only the driver could say is not wanted.
 */
import { clusterRules as attacherRules } from '@csi-sidecars/attacher';
import { clusterRules as validatorRules } from '@csi-sidecars/data-source-validator';
import { clusterRules as healthMonitorRules } from '@csi-sidecars/health-monitor';
import { clusterRules as provisionerRules, namespaceRules } from '@csi-sidecars/provisioner';
import { clusterRules as resizerRules } from '@csi-sidecars/resizer';
import {
  type CheckedRule,
  leaseRules,
  neededRules,
  type StorageClass,
  type VolumeAttributesClass,
} from '@csi-sidecars/runtime';
import { wantedRights, type WantedRight } from '@csi-sidecars/sidecar';
import { clusterRules as snapshotControllerRules } from '@csi-sidecars/snapshot-controller';
import { clusterRules as snapshotMetadataRules } from '@csi-sidecars/snapshot-metadata';
import { clusterRules as snapshotterRules } from '@csi-sidecars/snapshotter';
import type { VolumeSnapshotClass } from '@csi-sidecars/volume';
import { leaseNameOf } from '../../actors/programs.ts';
import type { Program, Service } from '../../verdict.ts';
import {
  electionNamespace,
  elects,
  flagOf,
  gateOf,
  hasLease,
  isAtLeast,
  isOn,
  type Sidecar,
  type WorkloadFacts,
} from './sidecars.ts';
import type { ClassSecret, DriverFacts, Registration } from './facts.ts';
import { isUsedBy } from './upstream-rights.ts';
import type { CheckId } from '../ids.ts';

/** What of the cluster decides what is needed. What was not read needs nothing. */
export interface Uses {
  readonly classes: readonly StorageClass[];
  readonly attributesClasses: readonly VolumeAttributesClass[];
  readonly snapshotClasses: readonly VolumeSnapshotClass[];
  readonly registrations: readonly Registration[];
  readonly secrets: readonly ClassSecret[];
  /** The kinds of group snapshots exist. */
  readonly hasGroups: boolean;
}

export interface Wanted {
  /** The check that reports it. */
  readonly id: CheckId;
  readonly right: WantedRight;
}

const ownChecks: Readonly<Record<Program | Service, CheckId>> = {
  'csi-provisioner': 'rights-1',
  'csi-attacher': 'rights-2',
  'csi-resizer': 'rights-3',
  'csi-snapshotter': 'rights-4',
  'snapshot-controller': 'rights-5',
  'csi-external-health-monitor-controller': 'rights-13',
  'volume-data-source-validator': 'rights-14',
  'csi-snapshot-metadata': 'rights-15',
};

export function wantedOf(
  { sidecar, workload }: { readonly sidecar: Sidecar; readonly workload: WorkloadFacts },
  driver: DriverFacts | undefined,
  uses: Uses,
): readonly Wanted[] {
  const { program } = sidecar;
  const cluster = neededOf(sidecar, driver, uses);
  const { namespace } = workload.object;
  const ofNamespace = program === 'csi-provisioner' ? capacityRules(sidecar, workload) : [];
  const own = wantedRights({ cluster, namespaced: [{ namespace, rules: ofNamespace }] })
    .filter((right) => isUsedBy(sidecar, right))
    .map((right) => ({ id: checkOf(program, right), right: ofDriver(right, driver) }));
  return [...own, ...electionOf({ sidecar, workload }, driver), ...secretsOf(program, driver, uses)];
}

/** A SnapshotMetadataService has the name of its driver, and a role may name it. */
function ofDriver(right: WantedRight, driver: DriverFacts | undefined): WantedRight {
  return right.resource === 'snapshotmetadataservices' && driver !== undefined
    ? { ...right, name: driver.name }
    : right;
}

function checkOf(program: Program | Service, { resource, verb }: WantedRight): CheckId {
  if (resource === 'volumeattributesclasses') return 'rights-8';
  if (resource === 'events') return 'rights-12';
  if (program === 'csi-resizer' && resource === 'pods' && verb === 'list') return 'rights-7';
  return ownChecks[program];
}

function neededOf(sidecar: Sidecar, driver: DriverFacts | undefined, uses: Uses): readonly CheckedRule[] {
  const { registrations, hasGroups } = uses;
  const has = <T>(all: readonly T[], of: (each: T) => string | undefined): boolean =>
    driver !== undefined && all.some((each) => of(each) === driver.name);
  const hasAttributes = has(uses.attributesClasses, ({ driverName }) => driverName);
  // Upstream's programs have the gate off until it is given.
  const groups = hasGroups && (gateOf(sidecar, 'CSIVolumeGroupSnapshot') ?? sidecar.flavour === 'ours');
  switch (sidecar.program) {
    case 'csi-provisioner': {
      const isOnNodes = isOn(sidecar, 'node-deployment');
      const isCapacity = isOn(sidecar, 'enable-capacity');
      const hasTopology =
        gateOf(sidecar, 'Topology') !== false &&
        registrations.some(({ drivers }) => drivers.some(({ name, keys }) => name === driver?.name && keys.length > 0));
      const hasSnapshots = has(uses.snapshotClasses, (each) => each.driver);
      return neededRules(provisionerRules, {
        attributesClasses: hasAttributes && gateOf(sidecar, 'VolumeAttributesClass') !== false,
        snapshots: hasSnapshots,
        sweep: hasSnapshots && flagOf(sidecar, 'snapshot-orphan-sweep-interval') !== '0',
        grants: gateOf(sidecar, 'CrossNamespaceVolumeDataSource') === true,
        nodes: !isOnNodes && (hasTopology || isCapacity),
        nodeDeployment: isOnNodes,
        attach: driver?.object?.spec.attachRequired !== false && driver?.object !== undefined,
        capacity: isCapacity,
        podOwner: false,
        deploymentOwner: false,
      });
    }
    case 'csi-attacher':
      return neededRules(attacherRules, { attach: driver?.object?.spec.attachRequired !== false });
    case 'csi-resizer':
      return neededRules(resizerRules, {
        pods: isOn(sidecar, 'handle-volume-inuse-error', true),
        modify: modifies(sidecar, hasAttributes),
      });
    case 'csi-snapshotter':
      return neededRules(snapshotterRules, { groups });
    case 'snapshot-controller':
      return neededRules(snapshotControllerRules, {
        groups,
        distributed: isOn(sidecar, 'enable-distributed-snapshotting'),
        // What the validator beside it needs is asked for by itself.
        validator: false,
      }).filter(
        ({ apiGroups }) => groups || sidecar.flavour === 'ours' || !apiGroups.includes('groupsnapshot.storage.k8s.io'),
      );
    case 'csi-external-health-monitor-controller':
      return neededRules(healthMonitorRules, {});
    case 'volume-data-source-validator':
      return neededRules(validatorRules, {});
    case 'csi-snapshot-metadata':
      return snapshotMetadataRules.filter(
        ({ when, resources }) =>
          when === undefined || (resources.includes('snapshotmetadataservices') && !hasAudience(sidecar)),
      );
  }
}

/** Upstream's releases read the SnapshotMetadataService although they have the flag. */
function hasAudience(sidecar: Sidecar): boolean {
  return sidecar.flavour === 'ours' && (flagOf(sidecar, 'audience') ?? '') !== '';
}

/** Upstream's csi-resizer lists the classes from 2.0 on, whether there are any or not; ours if the driver modifies volumes. */
function modifies(sidecar: Sidecar, hasAttributes: boolean): boolean {
  const gate = gateOf(sidecar, 'VolumeAttributesClass');
  if (gate === false) return false;
  if (sidecar.flavour === 'ours') return hasAttributes;
  return gate === true || isAtLeast(sidecar.version, 2) || (sidecar.version === undefined && hasAttributes);
}

function capacityRules(sidecar: Sidecar, { object }: WorkloadFacts): readonly CheckedRule[] {
  const isCapacity = isOn(sidecar, 'enable-capacity');
  const level = Number(flagOf(sidecar, 'capacity-ownerref-level') ?? '1');
  const nothing = { attributesClasses: false, snapshots: false, sweep: false, grants: false, nodes: false };
  return neededRules(namespaceRules, {
    ...nothing,
    nodeDeployment: false,
    attach: false,
    capacity: isCapacity,
    podOwner: isCapacity && level >= 0,
    deploymentOwner: isCapacity && level === 2 && object.kind === 'Deployment',
  });
}

function electionOf(
  { sidecar, workload }: { readonly sidecar: Sidecar; readonly workload: WorkloadFacts },
  driver: DriverFacts | undefined,
): readonly Wanted[] {
  if (!hasLease(sidecar) || !elects(sidecar)) return [];
  const rules = neededRules(leaseRules, { leaderElection: true })
    // A standby works without it, and upstream's programs do not watch.
    .filter(({ verbs }) => !verbs.includes('watch'));
  const namespace = electionNamespace(sidecar, workload);
  // In one process too each controller has the Lease of its program.
  const name = leaseNameOf(sidecar.program, driver?.name ?? '');
  const namespaced = [{ namespace, rules, name }];
  return wantedRights({ cluster: [], namespaced }).map((right) => ({ id: 'rights-6', right }));
}

function secretsOf(program: Program | Service, driver: DriverFacts | undefined, { secrets }: Uses): readonly Wanted[] {
  return secrets
    .filter((secret) => secret.program === program && secret.driver === driver?.name && secret.fixed !== undefined)
    .map(({ fixed, classKind, className }) => ({
      id: 'rights-9',
      right: {
        verb: 'get',
        group: '',
        resource: 'secrets',
        namespace: fixed?.namespace,
        name: fixed?.name,
        without: `what ${classKind} ${className} asks for fails`,
      },
    }));
}
