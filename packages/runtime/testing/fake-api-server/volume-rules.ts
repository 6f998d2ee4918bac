// SPDX-License-Identifier: Apache-2.0
/** Defaults and validation of PersistentVolumes and PersistentVolumeClaims. */
import { at, isObject, sameJson, textAt, withField } from './json.ts';
import { canonicalQuantity, parseQuantity, malformedQuantity } from './quantities.ts';
import { badRequest, forbiddenField, invalidValue, required, unsupported, type FieldCause } from './status.ts';
import type { StoredObject } from './store.ts';

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const reclaimPolicies = ['Delete', 'Recycle', 'Retain'];
const volumeModes = ['Block', 'Filesystem'];
const notSources = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]);

export function decodeVolume(object: object): void {
  checkQuantities('PersistentVolume', at(object, 'spec', 'capacity'));
}

export function decodeClaim(object: object): void {
  for (const path of [
    ['spec', 'resources', 'requests'],
    ['spec', 'resources', 'limits'],
    ['status', 'capacity'],
    ['status', 'allocatedResources'],
  ]) {
    checkQuantities('PersistentVolumeClaim', at(object, ...path));
  }
}

function checkQuantities(kind: string, list: unknown): void {
  if (!isObject(list)) return;
  for (const value of Object.values(list)) {
    if (value === null || parseQuantity(value) !== undefined) continue;
    throw badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${malformedQuantity}`);
  }
}

function canonical(object: StoredObject, path: readonly string[]): StoredObject {
  const list = at(object, ...path);
  if (!isObject(list)) return object;
  const entries = Object.entries(list).map(([name, value]) => [name, canonicalQuantity(value)]);
  return withField(object, path, Object.fromEntries(entries));
}

export function volumeDefaults(object: StoredObject): StoredObject {
  const spec = at(object, 'spec');
  if (!isObject(spec)) return object;
  const filled = { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem', ...spec };
  return canonical({ ...object, spec: filled }, ['spec', 'capacity']);
}

/** The server notes when the phase changed, unless the writer did. */
export function notePhase(next: StoredObject, previous: StoredObject, now: string): StoredObject {
  const noted = at(next, 'status', 'lastPhaseTransitionTime');
  const moved = at(next, 'status', 'phase') !== at(previous, 'status', 'phase');
  const untouched = noted === undefined || noted === at(previous, 'status', 'lastPhaseTransitionTime');
  return moved && untouched ? withField(next, ['status', 'lastPhaseTransitionTime'], now) : next;
}

function source(object: StoredObject): readonly (readonly [string, unknown])[] {
  return Object.entries((object['spec'] as object | undefined) ?? {}).filter(([field]) => !notSources.has(field));
}

export function volumeCauses(object: StoredObject): readonly FieldCause[] {
  const causes: FieldCause[] = [...modeCauses(at(object, 'spec', 'accessModes'))];
  const capacity = at(object, 'spec', 'capacity');
  if (!isObject(capacity) || Object.keys(capacity).length === 0) causes.push(required('spec.capacity'));
  if (!isObject(capacity) || capacity['storage'] === undefined) {
    causes.push(unsupported('spec.capacity', capacity, ['storage']));
  } else if ((parseQuantity(capacity['storage'])?.nanos ?? 0n) <= 0n) {
    causes.push(invalidValue('spec.capacity[storage]', capacity['storage'], 'must be greater than zero'));
  }
  const sources = source(object);
  if (sources.length === 0) causes.push(required('spec', 'must specify a volume type'));
  for (const [field] of sources.slice(1))
    causes.push(forbiddenField(`spec.${field}`, 'may not specify more than 1 volume type'));
  causes.push(...csiSourceCauses(at(object, 'spec', 'csi')));
  const policy = at(object, 'spec', 'persistentVolumeReclaimPolicy');
  if (!reclaimPolicies.includes(String(policy))) {
    causes.push(unsupported('spec.persistentVolumeReclaimPolicy', policy, reclaimPolicies));
  }
  causes.push(...volumeModeCauses(object));
  return causes;
}

function csiSourceCauses(csi: unknown): readonly FieldCause[] {
  if (!isObject(csi)) return [];
  const causes: FieldCause[] = [];
  if (textAt(csi, 'driver') === '') causes.push(required('spec.csi.driver'));
  if (textAt(csi, 'volumeHandle') === '') causes.push(required('spec.csi.volumeHandle'));
  const secretRefs = [
    'controllerPublishSecretRef',
    'controllerExpandSecretRef',
    'nodePublishSecretRef',
    'nodeExpandSecretRef',
  ];
  for (const ref of secretRefs) {
    if (csi[ref] === undefined) continue;
    for (const field of ['name', 'namespace']) {
      if (textAt(csi, ref, field) === '') causes.push(required(`spec.csi.${ref}.${field}`));
    }
  }
  return causes;
}

function modeCauses(modes: unknown): readonly FieldCause[] {
  if (!Array.isArray(modes) || modes.length === 0) return [required('spec.accessModes')];
  const causes = modes
    .filter((mode) => !accessModes.includes(String(mode)))
    .map((mode) => unsupported('spec.accessModes', mode, accessModes));
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    return [...causes, forbiddenField('spec.accessModes', 'may not use ReadWriteOncePod with other access modes')];
  }
  return causes;
}

function volumeModeCauses(object: StoredObject): readonly FieldCause[] {
  const mode = at(object, 'spec', 'volumeMode');
  return volumeModes.includes(String(mode)) ? [] : [unsupported('spec.volumeMode', mode, volumeModes)];
}

export function volumeUpdateCauses(next: StoredObject, previous: StoredObject): readonly FieldCause[] {
  const causes: FieldCause[] = [];
  const withoutSecrets = (object: StoredObject): unknown => {
    // Secret references for expansion may be added later; everything else of the source is fixed.
    const csi = at(object, 'spec', 'csi');
    if (!isObject(csi)) return Object.fromEntries(source(object));
    const { controllerExpandSecretRef: _c, nodeExpandSecretRef: _n, ...rest } = csi;
    return { ...Object.fromEntries(source(object)), csi: rest };
  };
  if (!sameJson(withoutSecrets(next), withoutSecrets(previous))) {
    causes.push(
      forbiddenField('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation'),
    );
  }
  if (at(next, 'spec', 'volumeMode') !== at(previous, 'spec', 'volumeMode')) {
    // The server names these two fields without their parent.
    causes.push(invalidValue('volumeMode', at(next, 'spec', 'volumeMode'), 'field is immutable'));
  }
  const affinity = at(previous, 'spec', 'nodeAffinity');
  if (affinity !== undefined && !sameJson(affinity, at(next, 'spec', 'nodeAffinity'))) {
    causes.push(
      invalidValue(
        'nodeAffinity',
        at(next, 'spec', 'nodeAffinity') ?? null,
        'field is immutable, except for updating from beta label to GA',
      ),
    );
  }
  return causes;
}

export function claimDefaults(object: StoredObject): StoredObject {
  const spec = at(object, 'spec');
  if (!isObject(spec)) return object;
  const filled: StoredObject = { ...object, spec: { volumeMode: 'Filesystem', ...spec } };
  const paths = [
    ['spec', 'resources', 'requests'],
    ['status', 'capacity'],
    ['status', 'allocatedResources'],
  ];
  const decoded = paths.reduce((claim, path) => canonical(claim, path), mirrorDataSource(filled));
  return asEncoded(decoded);
}

const omittedWhenEmpty = ['accessModes', 'allocatedResources', 'allocatedResourceStatuses', 'capacity', 'conditions'];

/** The server omits empty lists and maps from the status of a claim, and spells absent times of conditions as null. */
function asEncoded(claim: StoredObject): StoredObject {
  const status = at(claim, 'status');
  if (!isObject(status)) return claim;
  const { conditions } = status;
  const encoded = Array.isArray(conditions)
    ? { ...status, conditions: conditions.map((condition: object) => ({ ...absentTimes, ...condition })) }
    : status;
  const kept = Object.entries(encoded).filter(
    ([field, value]) => !omittedWhenEmpty.includes(field) || Object.keys(value ?? {}).length > 0,
  );
  return { ...claim, status: Object.fromEntries(kept) };
}

const absentTimes = { lastProbeTime: null, lastTransitionTime: null };

/** dataSource and dataSourceRef mirror each other while no foreign namespace is named. Both say `apiGroup: null` for core. */
function mirrorDataSource(claim: StoredObject): StoredObject {
  const plain = at(claim, 'spec', 'dataSource') ?? at(claim, 'spec', 'dataSourceRef');
  const reference = at(claim, 'spec', 'dataSourceRef') ?? at(claim, 'spec', 'dataSource');
  if (!isObject(plain) || !isObject(reference)) return claim;
  const withReference = withField(claim, ['spec', 'dataSourceRef'], { apiGroup: null, ...reference });
  if (textAt(reference, 'namespace') !== '') return withReference;
  return withField(withReference, ['spec', 'dataSource'], { apiGroup: null, ...plain });
}

export function claimCauses(object: StoredObject): readonly FieldCause[] {
  const causes: FieldCause[] = [...modeCauses(at(object, 'spec', 'accessModes')), ...volumeModeCauses(object)];
  const storage = at(object, 'spec', 'resources', 'requests', 'storage');
  if (storage === undefined) causes.push(required('spec.resources[storage]'));
  else if ((parseQuantity(storage)?.nanos ?? 0n) <= 0n) {
    causes.push(invalidValue('spec.resources[storage]', storage, 'must be greater than zero'));
  }
  return causes;
}

const immutableClaim =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

export function claimUpdateCauses(next: StoredObject, previous: StoredObject): readonly FieldCause[] {
  const bound = at(previous, 'status', 'phase') === 'Bound';
  const fixed = (claim: StoredObject): unknown => {
    let rest = claim;
    if (bound) {
      rest = withField(rest, ['spec', 'resources', 'requests'], undefined);
      rest = withField(rest, ['spec', 'volumeAttributesClassName'], undefined);
    }
    // Binding sets the volume name once; the default class may be filled in later.
    if (textAt(previous, 'spec', 'volumeName') === '') rest = withField(rest, ['spec', 'volumeName'], undefined);
    if (at(previous, 'spec', 'storageClassName') === undefined)
      rest = withField(rest, ['spec', 'storageClassName'], undefined);
    return rest['spec'];
  };
  if (!sameJson(fixed(next), fixed(previous))) return [forbiddenField('spec', immutableClaim)];
  const size = (claim: StoredObject, ...path: readonly string[]): bigint =>
    parseQuantity(at(claim, ...path))?.nanos ?? 0n;
  const request = ['spec', 'resources', 'requests', 'storage'];
  const shrunk = size(next, ...request) < size(previous, ...request);
  if (shrunk && size(next, ...request) <= size(previous, 'status', 'capacity', 'storage')) {
    return [forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity')];
  }
  return [];
}
