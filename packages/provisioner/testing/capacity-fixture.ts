// SPDX-License-Identifier: Apache-2.0
/** The whole provisioner that publishes capacity, with the objects and the calls of capacity as short lines. */
import type { GetCapacityRequest } from '@csi-sidecars/csi';
import {
  type CSIStorageCapacity,
  csiStorageCapacities,
  type OwnerReference,
  type StorageClass,
} from '@csi-sidecars/runtime';
import { centralManagedBy, labels } from '../src/capacity/object.ts';
import type { CapacitySettings } from '../src/capacity/settings.ts';
import { aClass, driverName } from './builders.ts';
import { capacitySettings, namespace } from './capacity-settings.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from './provisioner-fixture.ts';

export { capacitySettings, namespace };

export const anOwner: OwnerReference = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  name: 'driver',
  uid: 'uid-of-driver',
  controller: true,
};

export interface PublisherOptions extends Omit<FixtureOptions, 'capacity'> {
  readonly capacity?: Partial<CapacitySettings>;
}

/** The driver has topology, and reports 1 TiB for every segment until a test says otherwise. */
export function aPublisher({ capacity, controller, ...options }: PublisherOptions = {}): Promise<Fixture> {
  return aProvisioner({
    topology: 'on',
    controller: controller ?? ['CREATE_DELETE_VOLUME', 'GET_CAPACITY'],
    ...options,
    capacity: capacitySettings(capacity),
  });
}

/** A class that binds late. */
export function aLateClass(name: string = 'fast', storageClass: Partial<StorageClass> = {}): StorageClass {
  return aClass({
    metadata: { name, uid: `uid-of-${name}` },
    volumeBindingMode: 'WaitForFirstConsumer',
    ...storageClass,
  });
}

export interface ObjectFacts {
  readonly name?: string;
  readonly className?: string;
  readonly zone?: string;
  readonly capacity?: string;
  readonly maximum?: string;
  readonly owners?: readonly OwnerReference[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly createdAt?: string;
  readonly nodeTopology?: CSIStorageCapacity['nodeTopology'] | null;
}

export const managed: Readonly<Record<string, string>> = {
  [labels.driverName]: driverName,
  [labels.managedBy]: centralManagedBy,
};

/** A managed object of class `fast` in zone `a`, as this program would have made it. */
export function aCapacity(facts: ObjectFacts = {}): CSIStorageCapacity {
  const { name = 'csisc-1', className = 'fast', zone = 'a', capacity = '1Ti', maximum = '1Ti' } = facts;
  const nodeTopology = facts.nodeTopology === undefined ? { matchLabels: { zone } } : facts.nodeTopology;
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIStorageCapacity',
    metadata: {
      name,
      namespace,
      uid: `uid-of-${name}`,
      creationTimestamp: facts.createdAt ?? '2025-12-31T00:00:00Z',
      labels: facts.labels ?? managed,
      ...(facts.owners === undefined ? {} : { ownerReferences: facts.owners }),
    },
    storageClassName: className,
    ...(nodeTopology === null ? {} : { nodeTopology }),
    ...(capacity === '' ? {} : { capacity }),
    ...(maximum === '' ? {} : { maximumVolumeSize: maximum }),
  };
}

/** `fast zone=a 1Ti max 1Ti of driver` */
export function show({ metadata, storageClassName, nodeTopology, ...sizes }: CSIStorageCapacity): string {
  const where = Object.entries(nodeTopology?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const owners = (metadata?.ownerReferences ?? []).map(({ name }) => name);
  return [
    storageClassName,
    where.length === 0 ? JSON.stringify(nodeTopology ?? null) : where.join(','),
    sizes.capacity ?? 'unknown',
    ...(sizes.maximumVolumeSize === undefined ? [] : [`max ${sizes.maximumVolumeSize}`]),
    ...(owners.length === 0 ? [] : [`of ${owners.join(' and ')}`]),
  ].join(' ');
}

export function capacities({ server }: Pick<Fixture, 'server'>): readonly CSIStorageCapacity[] {
  return server.objects.list(csiStorageCapacities);
}

/** Sorted. */
export function published(p: Pick<Fixture, 'server'>): readonly string[] {
  return capacities(p).map(show).sort();
}

export function capacityNamed({ server }: Pick<Fixture, 'server'>, name: string): CSIStorageCapacity | undefined {
  return server.objects.get(csiStorageCapacities, { namespace, name });
}

/** The segment of each GetCapacity so far, in order: `zone=a`. */
export function asked(p: Pick<Fixture, 'requests'>): readonly string[] {
  return requestsOf(p).map(({ accessible_topology: topology }) =>
    Object.entries(topology?.segments ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
  );
}

export function requestsOf(p: Pick<Fixture, 'requests'>): readonly GetCapacityRequest[] {
  return p.requests('GetCapacity') as unknown as readonly GetCapacityRequest[];
}

/** The writes to capacity objects so far, by verb and code: `create 201`. */
export function writes({ server }: Pick<Fixture, 'server'>): readonly string[] {
  return server
    .writes()
    .filter(({ resource }) => resource === 'csistoragecapacities')
    .map(({ verb, code }) => `${verb} ${code}`);
}

/** `goal/current/obsolete` */
export function counted({ metrics }: Pick<Fixture, 'metrics'>): string {
  return ['desired_goal', 'desired_current', 'obsolete']
    .map((name) => metrics.value(`csistoragecapacities_${name}`))
    .join('/');
}

/** From now on the driver reports these bytes, and no maximum unless one is given. Returns the way back. */
export function report({ driver }: Pick<Fixture, 'driver'>, available: bigint, maximum?: bigint): () => void {
  const set = { available_capacity: `${available}` };
  const action =
    maximum === undefined
      ? ({ kind: 'answer', set, unset: ['maximum_volume_size'] } as const)
      : ({ kind: 'answer', set: { ...set, maximum_volume_size: { value: `${maximum}` } } } as const);
  const id = driver.faults.add({ method: 'GetCapacity', action });
  return () => void driver.faults.remove(id);
}

export const pollMs = 60_000;
