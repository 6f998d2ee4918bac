// SPDX-License-Identifier: Apache-2.0
/** Objects and facts for tests: complete and valid by default, so that a test names only what it is about. */
import { type Code, CsiError } from '@csi-sidecars/csi';
import { driverName } from '@csi-sidecars/csi/testing';
import type { PersistentVolume, Pod, VolumeAttributesClass } from '@csi-sidecars/runtime';
import { parseQuantity, type Quantity } from '@csi-sidecars/volume';
import type { Claim, ClaimCondition, ModifyStatus } from '../src/claim.ts';
import type { ResizerDriver } from '../src/driver.ts';
import type { ResizerSettings } from '../src/settings.ts';

export { driverName };

export interface SettingsOverrides extends Partial<Omit<ResizerSettings, 'features'>> {
  readonly features?: Partial<ResizerSettings['features']>;
}

export function someSettings({ features, ...settings }: SettingsOverrides = {}): ResizerSettings {
  return {
    workerThreads: 10,
    retryIntervalStartMs: 1_000,
    retryIntervalMaxMs: 300_000,
    resyncMs: 600_000,
    expandTimeoutMs: 10_000,
    modifyTimeoutMs: 10_000,
    handleInUseErrors: true,
    extraModifyMetadata: false,
    features: { annotateFsResize: true, recovery: true, volumeAttributesClass: true, ...features },
    ...settings,
  };
}

export interface ClaimOptions {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly volumeName?: string;
  /** What the user asks for. */
  readonly spec?: string;
  /** What the claim has. */
  readonly cap?: string;
  readonly alloc?: string;
  readonly rstatus?: string;
  readonly phase?: string;
  readonly conditions?: readonly ClaimCondition[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deleting?: 'yes';
  readonly wantedClass?: string;
  readonly currentClass?: string;
  readonly modifyStatus?: ModifyStatus;
}

/** Bound to `pv1`, asks for 2Gi and has 1Gi. */
export function aClaim(options: ClaimOptions = {}): Claim {
  const { name = 'data', namespace = 'team', alloc, rstatus } = options;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace,
      uid: options.uid ?? `uid-of-${name}`,
      ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
      ...(options.deleting === 'yes' ? { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] } : {}),
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      volumeName: options.volumeName ?? 'pv1',
      resources: { requests: { storage: options.spec ?? '2Gi' } },
      ...(options.wantedClass === undefined ? {} : { volumeAttributesClassName: options.wantedClass }),
    },
    status: {
      phase: options.phase ?? 'Bound',
      ...(options.cap === '' ? {} : { capacity: { storage: options.cap ?? '1Gi' } }),
      ...(alloc === undefined ? {} : { allocatedResources: { storage: alloc } }),
      ...(rstatus === undefined ? {} : { allocatedResourceStatuses: { storage: rstatus } }),
      ...(options.conditions === undefined ? {} : { conditions: options.conditions }),
      ...(options.currentClass === undefined ? {} : { currentVolumeAttributesClassName: options.currentClass }),
      ...(options.modifyStatus === undefined ? {} : { modifyVolumeStatus: options.modifyStatus }),
    },
  };
}

export function aCondition(type: string, more: Partial<ClaimCondition> = {}): ClaimCondition {
  return { type, status: 'True', lastTransitionTime: '2025-01-01T00:00:00Z', ...more };
}

export interface VolumeOptions {
  readonly name?: string;
  readonly cap?: string;
  readonly claim?: Claim;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly csi?: Partial<NonNullable<NonNullable<PersistentVolume['spec']>['csi']>>;
  readonly spec?: Partial<NonNullable<PersistentVolume['spec']>>;
}

/** `volume-1` of the driver's model, 1Gi, bound to the claim that `aClaim()` makes. */
export function aVolume(options: VolumeOptions = {}): PersistentVolume {
  const { name = 'pv1', claim = aClaim() } = options;
  const { namespace = '', name: claimName = '', uid = '' } = claim.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name,
      uid: `uid-of-${name}`,
      ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: options.cap ?? '1Gi' },
      claimRef: { namespace, name: claimName, uid },
      csi: { driver: driverName, volumeHandle: name.replace('pv', 'volume-'), ...options.csi },
      volumeMode: 'Filesystem',
      ...options.spec,
    },
    status: { phase: 'Bound' },
  };
}

export interface PodOptions {
  readonly name?: string;
  readonly namespace?: string;
  readonly phase?: string;
  readonly claims?: readonly string[];
  /** Names of generic ephemeral volumes. */
  readonly ephemeral?: readonly string[];
}

/** Runs, and uses the claim that `aClaim()` makes. */
export function aPod(options: PodOptions = {}): Pod {
  const { name = 'pod', namespace = 'team', claims = ['data'], ephemeral = [] } = options;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid: `uid-of-${name}` },
    spec: {
      containers: [{ name: 'main', image: 'busybox' }],
      volumes: [
        ...claims.map((claimName, index) => ({ name: `v${index}`, persistentVolumeClaim: { claimName } })),
        ...ephemeral.map((volume) => ({ name: volume, ephemeral: {} })),
      ],
    },
    status: { phase: options.phase ?? 'Running' },
  };
}

export function aClass(name = 'gold', more: Partial<VolumeAttributesClass> = {}): VolumeAttributesClass {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttributesClass',
    metadata: { name, uid: `uid-of-${name}` },
    driverName,
    parameters: { iops: '1000' },
    ...more,
  };
}

export interface DriverOverrides {
  readonly name?: string;
  readonly controller?: readonly string[];
  readonly expansion?: ResizerDriver['expansion'];
}

export function aDriver({ name = driverName, controller = [], expansion }: DriverOverrides = {}): ResizerDriver {
  return {
    name,
    pluginCapabilities: new Set(['CONTROLLER_SERVICE']),
    controllerCapabilities: new Set(['EXPAND_VOLUME', 'MODIFY_VOLUME', ...controller]),
    expansion: expansion ?? 'controller',
  };
}

export function csiFailure(code: Exclude<Code, 'OK'>, detail = 'no'): CsiError {
  return new CsiError({ code, detail, method: '/csi.v1.Controller/ControllerExpandVolume' });
}

export function sizeOf(text: string): Quantity {
  const size = parseQuantity(text);
  if (size === undefined) throw new Error(`not a size: ${text}`);
  return size;
}
