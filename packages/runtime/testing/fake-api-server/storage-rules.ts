// SPDX-License-Identifier: Apache-2.0
/** Defaults and validation of the kinds of storage.k8s.io. */
import { at, sameJson, textAt } from './json.ts';
import { canonicalQuantity, parseQuantity } from './quantities.ts';
import { forbiddenField, invalidValue, required, unsupported, type FieldCause } from './status.ts';
import type { StoredObject } from './store.ts';

type Objects = readonly [next: StoredObject, previous: StoredObject];

function unchanged(objects: Objects, field: string, detail: string): readonly FieldCause[] {
  const [next, previous] = objects;
  return sameJson(next[field], previous[field]) ? [] : [forbiddenField(field, detail)];
}

export function classDefaults(object: StoredObject): StoredObject {
  return {
    ...object,
    reclaimPolicy: object['reclaimPolicy'] ?? 'Delete',
    volumeBindingMode: object['volumeBindingMode'] ?? 'Immediate',
  };
}

export function classCauses(object: StoredObject): readonly FieldCause[] {
  const causes: FieldCause[] = [];
  if (textAt(object, 'provisioner') === '') causes.push(required('provisioner'));
  const reclaim = object['reclaimPolicy'];
  if (reclaim !== 'Delete' && reclaim !== 'Retain') {
    causes.push(unsupported('reclaimPolicy', reclaim, ['Delete', 'Retain']));
  }
  const binding = object['volumeBindingMode'];
  if (binding !== 'Immediate' && binding !== 'WaitForFirstConsumer') {
    causes.push(unsupported('volumeBindingMode', binding, ['Immediate', 'WaitForFirstConsumer']));
  }
  return causes;
}

export function classUpdateCauses(...objects: Objects): readonly FieldCause[] {
  return [
    ...unchanged(objects, 'parameters', 'updates to parameters are forbidden.'),
    ...unchanged(objects, 'provisioner', 'updates to provisioner are forbidden.'),
    ...unchanged(objects, 'reclaimPolicy', 'updates to reclaimPolicy are forbidden.'),
    ...immutable(objects, ['volumeBindingMode']),
  ];
}

export function attributesClassCauses(object: StoredObject): readonly FieldCause[] {
  const causes: FieldCause[] = [];
  if (textAt(object, 'driverName') === '') causes.push(required('driverName'));
  if (Object.keys((object['parameters'] as object | undefined) ?? {}).length === 0) {
    causes.push(required('parameters', 'must contain at least one key/value pair'));
  }
  return causes;
}

export function attributesClassUpdateCauses(...objects: Objects): readonly FieldCause[] {
  return [
    ...unchanged(objects, 'driverName', 'updates to driverName are forbidden.'),
    ...unchanged(objects, 'parameters', 'updates to parameters are forbidden.'),
  ];
}

function immutable(objects: Objects, path: readonly string[]): readonly FieldCause[] {
  const [next, previous] = objects;
  const value = at(next, ...path);
  return sameJson(value, at(previous, ...path)) ? [] : [invalidValue(path.join('.'), value, 'field is immutable')];
}

export function attachmentCauses(object: StoredObject): readonly FieldCause[] {
  const causes: FieldCause[] = [];
  if (textAt(object, 'spec', 'attacher') === '') causes.push(required('spec.attacher'));
  if (textAt(object, 'spec', 'nodeName') === '') causes.push(required('spec.nodeName'));
  const named = textAt(object, 'spec', 'source', 'persistentVolumeName') !== '';
  const inline = at(object, 'spec', 'source', 'inlineVolumeSpec') !== undefined;
  if (named === inline) {
    causes.push(
      named
        ? forbiddenField('spec.source', 'must specify exactly one of inlineVolumeSpec and persistentVolumeName')
        : required('spec.source', 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'),
    );
  }
  return causes;
}

export function attachmentUpdateCauses(...objects: Objects): readonly FieldCause[] {
  return immutable(objects, ['spec']);
}

interface NodeDriver {
  readonly name?: string;
  readonly nodeID?: string;
  readonly topologyKeys?: readonly string[];
  readonly allocatable?: { readonly count?: number };
}

function nodeDrivers(object: StoredObject): readonly NodeDriver[] {
  return (at(object, 'spec', 'drivers') as readonly NodeDriver[] | undefined) ?? [];
}

export function csiNodeCauses(object: StoredObject): readonly FieldCause[] {
  const causes: FieldCause[] = [];
  const names = new Set<string>();
  nodeDrivers(object).forEach((driver, index) => {
    const field = `spec.drivers[${index}]`;
    if ((driver.name ?? '') === '') causes.push(required(`${field}.name`));
    if ((driver.nodeID ?? '') === '') causes.push(required(`${field}.nodeID`));
    if ((driver.nodeID ?? '').length > 256) {
      causes.push(invalidValue(`${field}.nodeID`, driver.nodeID, 'must be 256 characters or less'));
    }
    if ((driver.allocatable?.count ?? 0) < 0) {
      causes.push(
        invalidValue(`${field}.allocatable.count`, driver.allocatable?.count, 'must be greater than or equal to 0'),
      );
    }
    if (names.has(driver.name ?? '')) {
      causes.push({
        reason: 'FieldValueDuplicate',
        field: `${field}.name`,
        message: `Duplicate value: "${driver.name}"`,
      });
    }
    names.add(driver.name ?? '');
  });
  return causes;
}

/** A registered driver keeps its node id and topology keys until it is unregistered; its limit may change. */
export function csiNodeUpdateCauses(...[next, previous]: Objects): readonly FieldCause[] {
  const known = new Map(nodeDrivers(previous).map((driver) => [driver.name, driver]));
  return nodeDrivers(next).flatMap((driver) => {
    const before = known.get(driver.name);
    if (before === undefined) return [];
    const same = before.nodeID === driver.nodeID && sameJson(before.topologyKeys ?? [], driver.topologyKeys ?? []);
    return same ? [] : [invalidValue('spec.drivers', nodeDrivers(next), 'field is immutable')];
  });
}

export function csiDriverDefaults(object: StoredObject): StoredObject {
  const spec = {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    volumeLifecycleModes: ['Persistent'],
    requiresRepublish: false,
    seLinuxMount: false,
    ...(object['spec'] as object | undefined),
  };
  return { ...object, spec };
}

export function capacityDefaults(object: StoredObject): StoredObject {
  const sizes = (['capacity', 'maximumVolumeSize'] as const).filter((field) => object[field] !== undefined);
  return { ...object, ...Object.fromEntries(sizes.map((field) => [field, canonicalQuantity(object[field])])) };
}

export function capacityCauses(object: StoredObject): readonly FieldCause[] {
  const capacity = object['capacity'];
  const isNegative = (parseQuantity(capacity)?.nanos ?? 0n) < 0n;
  return [
    ...(textAt(object, 'storageClassName') === '' ? [required('storageClassName')] : []),
    ...(isNegative ? [invalidValue('capacity', capacity, 'must be greater than or equal to 0')] : []),
  ];
}

export function capacityUpdateCauses(...objects: Objects): readonly FieldCause[] {
  return [...immutable(objects, ['nodeTopology']), ...immutable(objects, ['storageClassName'])];
}
