// SPDX-License-Identifier: Apache-2.0
/** Steps that scenarios of the resizer share: a bound claim of a class that allows expansion, and the moments of its growth. */
import assert from 'node:assert/strict';
import type { DecodedRequestOf } from '@csi-sidecars/csi';
import {
  persistentVolumeClaims,
  persistentVolumes,
  type PersistentVolumeClaim,
  type VolumeAttributesClass,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { allCapabilities, type Capabilities } from '@csi-sidecars/test-driver';
import { type CallOf, callsOf, type Recording } from '../../driver/calls.ts';
import { type AnnouncedDriverOptions, doorOf, type ScenarioContext } from '../context.ts';
import { type Bound, createClaim, createClass, untilBound } from '../provisioner/steps.ts';

export const gib: bigint = 1024n ** 3n;
/** Arguments of csi-resizer with which it retries soon after a failure. */
export const quickRetries: readonly string[] = ['--retry-interval-start=500ms', '--retry-interval-max=2s'];

/** Without topology, and its volumes are mounted without being attached. */
const plain: Capabilities = {
  ...allCapabilities,
  plugin: ['CONTROLLER_SERVICE'],
  controller: allCapabilities.controller.filter((type) => type !== 'PUBLISH_UNPUBLISH_VOLUME'),
};

export function driverWithout(part: keyof Capabilities, ...types: readonly string[]): AnnouncedDriverOptions {
  const kept = plain[part].filter((type) => !types.includes(String(type)));
  return { settings: { capabilities: { ...plain, [part]: kept } } };
}

export const plainDriver: AnnouncedDriverOptions = { settings: { capabilities: plain } };
/** Expands without a node. */
export const withoutNode: AnnouncedDriverOptions = driverWithout('node', 'EXPAND_VOLUME');

export interface ReadyOptions {
  readonly driver?: AnnouncedDriverOptions;
  /** Arguments of csi-resizer. */
  readonly args?: readonly string[];
}

/** A driver, both sidecars, and a claim of 1Gi that is bound. */
export async function readyToGrow(
  ctx: ScenarioContext,
  { driver = plainDriver, args = quickRetries }: ReadyOptions = {},
): Promise<Bound> {
  await ctx.startDriver(driver);
  await ctx.startProvisioner();
  await ctx.startResizer({ args });
  await createClaim(ctx, await createClass(ctx, { allowVolumeExpansion: true }));
  return await untilBound(ctx);
}

export async function claimOf({ api, namespace }: ScenarioContext, name = 'claim'): Promise<PersistentVolumeClaim> {
  return await api.get(persistentVolumeClaims, { namespace, name });
}

async function patchSpec({ api, namespace }: ScenarioContext, spec: object, name: string): Promise<void> {
  const target = { resource: persistentVolumeClaims, ref: { namespace, name } };
  await api.patch(target, { type: 'merge', body: { spec } });
}

export async function ask(ctx: ScenarioContext, storage: string, name = 'claim'): Promise<void> {
  await patchSpec(ctx, { resources: { requests: { storage } } }, name);
}

export async function wantClass(
  ctx: ScenarioContext,
  volumeAttributesClassName: string,
  name = 'claim',
): Promise<void> {
  await patchSpec(ctx, { volumeAttributesClassName }, name);
}

/** A VolumeAttributesClass of the scenario's driver. */
export async function makeClass(
  ctx: ScenarioContext,
  what: string,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  return await makeClassOf(ctx, what, { driverName: ctx.driverName, parameters });
}

export async function makeClassOf(
  ctx: ScenarioContext,
  what: string,
  fields: Required<Pick<VolumeAttributesClass, 'driverName' | 'parameters'>>,
): Promise<string> {
  const name = ctx.nameOf(what);
  await ctx.create(volumeAttributesClasses, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttributesClass',
    metadata: { name },
    ...fields,
  });
  return name;
}

export async function untilStatus(
  ctx: ScenarioContext,
  what: string,
  check: (status: NonNullable<PersistentVolumeClaim['status']>) => boolean,
): Promise<PersistentVolumeClaim> {
  return await untilClaim(ctx, 'claim', { what, check: (claim) => check(claim.status ?? {}) });
}

interface Awaited {
  readonly what: string;
  readonly check: (claim: PersistentVolumeClaim) => boolean;
}

async function untilClaim(
  ctx: ScenarioContext,
  name: string,
  { what, check }: Awaited,
): Promise<PersistentVolumeClaim> {
  return await ctx.eventually(
    `claim ${name} ${what}`,
    async () => {
      const claim = await claimOf(ctx, name);
      return check(claim) ? claim : undefined;
    },
    60_000,
  );
}

export async function untilSize(ctx: ScenarioContext, size: string, name = 'claim'): Promise<PersistentVolumeClaim> {
  const check = ({ status }: PersistentVolumeClaim): boolean => status?.capacity?.['storage'] === size;
  return await untilClaim(ctx, name, { what: `has ${size}`, check });
}

/** Each claim of the scenario. */
export async function untilEachClaim(
  ctx: ScenarioContext,
  what: string,
  check: (claim: PersistentVolumeClaim) => boolean,
): Promise<void> {
  const { api, namespace } = ctx;
  const all = async (): Promise<boolean> =>
    (await api.list(persistentVolumeClaims, { namespace })).items.every((claim) => check(claim));
  await ctx.eventually(`each claim ${what}`, all, 180_000);
}

/** Those about the volume itself. Since Kubernetes 1.37 every bound claim also has one about its pods, from kube-controller-manager. */
export function conditionsOf(
  status: PersistentVolumeClaim['status'],
): NonNullable<NonNullable<PersistentVolumeClaim['status']>['conditions']> {
  return (status?.conditions ?? []).filter(({ type }) => type !== 'Unused');
}

export function resizeStatus(status: PersistentVolumeClaim['status']): string | undefined {
  return status?.allocatedResourceStatuses?.['storage'];
}

/** Claim, PersistentVolume and storage have this size, and nothing of the expansion is left. */
export async function assertGrown(ctx: ScenarioContext, size: string): Promise<void> {
  const { spec, status } = await claimOf(ctx);
  assert.equal(status?.capacity?.['storage'], size);
  assert.equal(resizeStatus(status), undefined);
  assert.deepEqual(conditionsOf(status), []);
  const volume = await ctx.api.get(persistentVolumes, { name: spec?.volumeName ?? '' });
  assert.equal(volume.spec?.capacity?.['storage'], size);
  await ctx.onDriver(async () => {
    const stored = (await doorOf(ctx).control.volumes()).find(({ id }) => id === volume.spec?.csi?.volumeHandle);
    assert.equal(`${BigInt(stored?.capacityBytes ?? 0) / gib}Gi`, size);
  });
}

export async function expandCalls(ctx: ScenarioContext): Promise<readonly ExpandCall[]> {
  return await callsOf(doorOf(ctx), '/csi.v1.Controller/ControllerExpandVolume');
}

export async function nodeExpandCalls(ctx: ScenarioContext): Promise<readonly NodeExpandCall[]> {
  return await callsOf(doorOf(ctx), '/csi.v1.Node/NodeExpandVolume');
}

export async function modifyCalls(ctx: ScenarioContext): Promise<readonly ModifyCall[]> {
  return await modifyCallsOf(doorOf(ctx));
}

export async function modifyCallsOf(driver: Recording): Promise<readonly ModifyCall[]> {
  return await callsOf(driver, '/csi.v1.Controller/ControllerModifyVolume');
}

type NodeExpandCall = CallOf<DecodedRequestOf<'/csi.v1.Node/NodeExpandVolume'>>;
type ExpandCall = CallOf<DecodedRequestOf<'/csi.v1.Controller/ControllerExpandVolume'>>;
type ModifyCall = CallOf<DecodedRequestOf<'/csi.v1.Controller/ControllerModifyVolume'>>;

export function sizesOf(calls: readonly ExpandCall[]): readonly string[] {
  return calls.map(({ request }) => `${BigInt(request.capacity_range?.required_bytes ?? 0) / gib}Gi`);
}
