// SPDX-License-Identifier: Apache-2.0
/**
 * From a claim, its class and the caches to the one CreateVolume request that this attempt will send, and keep sending
 * until the driver gives a final answer. Everything that can be refused without a request is refused here. Secrets and the attributes class are
 * only named here; the loop reads them. `toShape` comes before the source of the data is read and protected, the rest after.
 */
import type { CreateVolumeRequestInput, DriverInfo, VolumeCapabilityInput } from '@csi-sidecars/csi';
import type { PersistentVolumeClaim, StorageClass } from '@csi-sidecars/runtime';
import {
  ok,
  parseQuantity,
  refuse,
  type Result,
  type SecretReference,
  toBytes,
  toDriverClass,
  toVolumeCapability,
} from '@csi-sidecars/volume';
import { missingCapability, missingForSource } from '../driver.ts';
import { metadataKeys, toDriverParameters, toFsType } from '../parameters/class-parameters.ts';
import { type SecretPurpose, secretPurposes, type SecretSubject, toSecretReference } from '../parameters/secrets.ts';
import { annotationsOf } from '../metadata.ts';
import type { ProvisionerSettings } from '../settings.ts';
import type { DataSource } from '../source/data-source.ts';
import { type ClusterTopology, type TopologyRequirement, toTopologyRequirement } from '../topology/requirement.ts';
import { allowedAt, type SnapshotPlaces, whyOutside } from '../topology/snapshot-places.ts';
import { selectedNodeOf, uidOf, volumeNameFor } from './claim.ts';
import { untranslatableClass } from './messages.ts';

export interface Plan {
  /** The name of the volume and of the PersistentVolume. */
  readonly volumeName: string;
  readonly request: CreateVolumeRequestInput;
  readonly requiredBytes: bigint;
  /** Empty means immediate binding. */
  readonly selectedNode: string;
  readonly fsType: string;
  /** Empty means none. */
  readonly attributesClass: string;
  readonly secrets: Readonly<Record<SecretPurpose, SecretReference | undefined>>;
  /** As the API server has it, also if it is one of the in-tree plugin. */
  readonly storageClass: StorageClass;
  /** The class is one of the in-tree plugin that the driver replaced: so is the record of the volume. */
  readonly isMigrated: boolean;
}

export type PlanAnswer =
  | { readonly kind: 'planned'; readonly plan: Plan }
  /** The selected node no longer exists. */
  | { readonly kind: 'nodeGone'; readonly message: string }
  /** Alpha: the selected node is outside of the places of the snapshot. */
  | { readonly kind: 'outside'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string };

export interface PlanFacts {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly driver: DriverInfo;
  readonly settings: ProvisionerSettings;
  /** Undefined if topology is not supported, by the driver or by the feature gate. */
  readonly cluster: ClusterTopology | undefined;
  /** A claim that is being deleted needs no particular node: only the answer matters. */
  readonly purpose: 'provision' | 'settle';
  readonly source: DataSource;
  /** Alpha: where the snapshot that the volume is made from can be used. Undefined: everywhere, or there is none. */
  readonly snapshot?: SnapshotPlaces | undefined;
}

const maxInt64 = (1n << 63n) - 1n;

export function toPlan(given: PlanFacts): PlanAnswer {
  const shape = toShape(given);
  if (shape.kind === 'error') return { kind: 'refused', message: shape.message };
  const { driverClass } = shape.value;
  const facts = { ...given, storageClass: driverClass };
  const topology = toTopology(facts);
  if (topology.kind !== 'ok') return topology;
  const references = toReferences(facts, shape.value.volumeName);
  if (references.kind === 'error') return { kind: 'refused', message: references.message };
  const parameters = toDriverParameters(facts.storageClass.parameters ?? {});
  if (parameters.kind === 'error') return { kind: 'refused', message: parameters.message };
  const { volumeName, requiredBytes, capabilities, fsType, attributesClass } = shape.value;
  return {
    kind: 'planned',
    plan: {
      volumeName,
      requiredBytes,
      fsType,
      attributesClass,
      selectedNode: topology.selectedNode,
      secrets: references.value,
      storageClass: given.storageClass,
      isMigrated: driverClass !== given.storageClass,
      request: {
        name: volumeName,
        capacity_range: { required_bytes: String(requiredBytes) },
        volume_capabilities: capabilities,
        parameters: { ...parameters.value, ...metadata(facts, volumeName) },
        ...(topology.requirement === undefined ? {} : { accessibility_requirements: topology.requirement }),
      },
    },
  };
}

/** The part of a request that needs no read, not even of the source. */
export interface Shape {
  /** The class as the driver has to see it. */
  readonly driverClass: StorageClass;
  readonly volumeName: string;
  readonly requiredBytes: bigint;
  readonly capabilities: readonly VolumeCapabilityInput[];
  readonly fsType: string;
  readonly attributesClass: string;
}

export function toShape({
  claim,
  storageClass: given,
  driver,
  settings,
  source,
}: Omit<PlanFacts, 'cluster' | 'purpose' | 'snapshot'>): Result<Shape> {
  const translated = toDriverClass(given, driver.name);
  if (translated.kind === 'error') return refuse(untranslatableClass(translated.message));
  const storageClass = translated.value;
  const attributesClass = settings.features.volumeAttributesClass ? (claim.spec?.volumeAttributesClassName ?? '') : '';
  const missing = missingCapability(driver);
  if (missing !== undefined) return refuse(missing);
  const missingToo = source.kind === 'source' ? missingForSource(driver, source.ref.kind) : undefined;
  if (missingToo !== undefined) return refuse(missingToo);
  if (attributesClass !== '' && !driver.controllerCapabilities.has('MODIFY_VOLUME')) {
    return refuse(
      'CSI driver does not support VolumeAttributesClass: controller MODIFY_VOLUME capability is not reported',
    );
  }
  if (claim.spec?.selector !== undefined) return refuse('claim Selector is not supported');
  const volumeName = volumeNameFor(uidOf(claim), settings);
  if (volumeName.kind === 'error') return volumeName;
  const fsType = toFsType(storageClass.parameters ?? {}, settings.defaultFsType);
  if (fsType.kind === 'error') return fsType;
  const requiredBytes = toRequiredBytes(claim);
  if (requiredBytes.kind === 'error') return requiredBytes;
  const capabilities = toCapabilities(claim, { storageClass, driver, fsType: fsType.value });
  if (capabilities.kind === 'error') return capabilities;
  return ok({
    driverClass: storageClass,
    volumeName: volumeName.value,
    requiredBytes: requiredBytes.value,
    capabilities: capabilities.value,
    fsType: fsType.value,
    attributesClass,
  });
}

function toRequiredBytes(claim: PersistentVolumeClaim): Result<bigint> {
  const text = claim.spec?.resources?.requests?.['storage'] ?? '0';
  const quantity = parseQuantity(text);
  if (quantity === undefined) return refuse(`storage request ${JSON.stringify(text)} is not a quantity`);
  const bytes = toBytes(quantity);
  return bytes > maxInt64 ? refuse(`storage request ${text} is larger than any volume can be`) : ok(bytes);
}

/** One capability per access mode of the claim, in its order; each mode is mapped on its own. */
function toCapabilities(
  claim: PersistentVolumeClaim,
  facts: { readonly storageClass: StorageClass; readonly driver: DriverInfo; readonly fsType: string },
): Result<readonly VolumeCapabilityInput[]> {
  const singleNodeMultiWriter = facts.driver.controllerCapabilities.has('SINGLE_NODE_MULTI_WRITER');
  const { volumeMode, accessModes = [] } = claim.spec ?? {};
  const capabilities: VolumeCapabilityInput[] = [];
  for (const accessMode of accessModes) {
    const capability = toVolumeCapability(
      {
        accessModes: [accessMode],
        volumeMode,
        fsType: facts.fsType,
        mountOptions: facts.storageClass.mountOptions ?? [],
      },
      { singleNodeMultiWriter },
    );
    if (capability.kind === 'error') return capability;
    capabilities.push(capability.value);
  }
  return ok(capabilities);
}

/** In node deployment: the allowed topologies of the class permit volumes on this node. What else is wrong is reported by the instance that takes the claim. */
export function isAllowedHere(facts: Omit<PlanFacts, 'purpose'>): boolean {
  const translated = toDriverClass(facts.storageClass, facts.driver.name);
  if (translated.kind === 'error' || (translated.value.allowedTopologies ?? []).length === 0) return true;
  return toTopology({ ...facts, storageClass: translated.value, purpose: 'provision' }).kind === 'ok';
}

type PlannedTopology =
  | { readonly kind: 'ok'; readonly selectedNode: string; readonly requirement: TopologyRequirement | undefined }
  | { readonly kind: 'nodeGone' | 'outside' | 'refused'; readonly message: string };

function toTopology(facts: PlanFacts): PlannedTopology {
  const { claim, storageClass, settings, cluster, driver } = facts;
  // An instance of a node makes volumes for no other, also for a claim whose node has changed since its first call.
  const wanted = settings.node?.name ?? selectedNodeOf(claim);
  const ofClass = storageClass.allowedTopologies ?? [];
  if (cluster === undefined) return { kind: 'ok', selectedNode: wanted, requirement: undefined };
  const { snapshot } = facts;
  const isRestricted = snapshot !== undefined && wanted === '';
  const allowed = isRestricted ? allowedAt(snapshot, { storageClass, driverName: driver.name, cluster }) : ok(ofClass);
  if (allowed.kind === 'error') return { kind: 'refused', message: allowed.message };
  const ask = (selectedNode: string): ReturnType<typeof toTopologyRequirement> =>
    toTopologyRequirement(
      {
        driverName: driver.name,
        claim,
        allowedTopologies: allowed.value,
        selectedNode,
        strict: settings.strictTopology,
        immediate: settings.immediateTopology,
      },
      cluster,
    );
  const first = ask(wanted);
  const [answer, selectedNode] =
    first.kind === 'nodeGone' && facts.purpose === 'settle' ? [ask(''), ''] : [first, wanted];
  switch (answer.kind) {
    case 'requirement': {
      // An instance of a node makes volumes for no other node, so another choice would not help.
      const isChosen = selectedNode !== '' && settings.node === undefined;
      const message = isChosen && snapshot !== undefined ? whyOutside(snapshot, selectedNode, cluster) : undefined;
      return message === undefined
        ? { kind: 'ok', selectedNode, requirement: answer.requirement }
        : { kind: 'outside', message };
    }
    case 'none':
      return { kind: 'ok', selectedNode, requirement: undefined };
    case 'nodeGone':
      return answer;
    case 'error':
      return { kind: 'refused', message: `error generating accessibility requirements: ${answer.message}` };
  }
}

function toReferences(facts: PlanFacts, volumeName: string): Result<Plan['secrets']> {
  const { claim, storageClass } = facts;
  const subject: SecretSubject = {
    volumeName,
    claimName: claim.metadata?.name ?? '',
    claimNamespace: claim.metadata?.namespace ?? '',
    claimAnnotations: annotationsOf(claim),
  };
  const found: Partial<Record<SecretPurpose, SecretReference | undefined>> = {};
  for (const purpose of secretPurposes) {
    const reference = toSecretReference(storageClass.parameters ?? {}, purpose, subject);
    if (reference.kind === 'error') return reference;
    found[purpose] = reference.value;
  }
  return ok(found as Plan['secrets']);
}

function metadata({ claim, settings }: PlanFacts, volumeName: string): Readonly<Record<string, string>> {
  if (!settings.extraCreateMetadata) return {};
  return {
    [metadataKeys.claimName]: claim.metadata?.name ?? '',
    [metadataKeys.claimNamespace]: claim.metadata?.namespace ?? '',
    [metadataKeys.volumeName]: volumeName,
  };
}
