// SPDX-License-Identifier: Apache-2.0
/** What an installed chart must have reached. Each check answers with what is missing, or with nothing. */
import {
  type ApiClient,
  type CSINode,
  csiDrivers,
  csiNodes,
  ignoreNotFound,
  leases,
  type Node,
  nodes,
  type Pod,
  pods,
} from '@csi-sidecars/runtime';
import type { ChartTestValues } from './flags.ts';

export interface Check {
  readonly what: string;
  /** Undefined if nothing is missing. */
  readonly missing: () => Promise<string | undefined>;
}

/** The pod's network and its volume. */
export interface PodIo {
  readonly get: (url: string) => Promise<{ readonly status: number | undefined; readonly text: string }>;
  /** Writes a file of its own to the folder, reads it, and removes it. Resolves with whether it was the same. */
  readonly writeAndRead: (folder: string) => Promise<boolean>;
}

export interface CheckDeps extends PodIo {
  readonly api: ApiClient;
  readonly nowMs: () => number;
}

/** Between the clock of the node that holds a Lease and the one of this pod. */
const clockDifferenceMs = 30_000;

export function checksOf(values: ChartTestValues, deps: CheckDeps): readonly Check[] {
  const { data } = values;
  const driver = values['driver-name'];
  const nodePods = values['node-pods'];
  return [
    { what: `CSIDriver ${driver}`, missing: () => driverObject(deps, driver) },
    ...(nodePods === ''
      ? []
      : [
          {
            what: `${driver} on the nodes`,
            missing: () => nodeSide(deps, { driver, namespace: values['node-namespace'], labelSelector: nodePods }),
          },
        ]),
    ...listed(values.leases).map((name) => ({
      what: `Lease ${name}`,
      missing: () => leader(deps, values.namespace, name),
    })),
    ...listed(values['metrics-endpoints']).map((url) => ({ what: url, missing: () => metrics(deps, url) })),
    ...(data === '' ? [] : [{ what: `a volume at ${data}`, missing: () => volume(deps, data) }]),
  ];
}

function listed(text: string): readonly string[] {
  return text.split(',').filter((entry) => entry !== '');
}

async function driverObject({ api }: CheckDeps, name: string): Promise<string | undefined> {
  const found = await api.get(csiDrivers, { name }).catch(ignoreNotFound);
  return found === undefined ? 'the object does not exist' : undefined;
}

interface NodeSide {
  readonly driver: string;
  readonly namespace: string;
  readonly labelSelector: string;
}

async function nodeSide(
  { api }: CheckDeps,
  { driver, namespace, labelSelector }: NodeSide,
): Promise<string | undefined> {
  const all = (await api.list(nodes)).items;
  const working = new Set(all.filter(isReady).map(({ metadata }) => metadata?.name));
  const found = (await api.list(pods, { namespace, labelSelector })).items.filter(
    ({ metadata, spec }) => metadata?.deletionTimestamp === undefined && working.has(spec?.nodeName),
  );
  if (found.length === 0) return 'no ready node has a pod of the driver';
  const unready = found.filter((pod) => !isReady(pod)).map(({ metadata }) => metadata?.name);
  if (unready.length > 0) return `not ready: ${unready.join(', ')}`;
  const registered = new Set(
    (await api.list(csiNodes)).items.filter((node) => hasDriver(node, driver)).map(({ metadata }) => metadata?.name),
  );
  const without = found.map(({ spec }) => spec?.nodeName).filter((name) => !registered.has(name));
  return without.length === 0 ? undefined : `kubelet has not registered it on ${without.join(', ')}`;
}

function hasDriver({ spec }: CSINode, driver: string): boolean {
  // The last driver that goes leaves a null behind.
  const drivers: readonly { readonly name: string }[] | null = spec.drivers;
  return (drivers ?? []).some(({ name }) => name === driver);
}

function isReady({ status }: Node | Pod): boolean {
  const conditions: readonly { readonly type: string; readonly status: string }[] = status?.conditions ?? [];
  return conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True');
}

async function leader({ api, nowMs }: CheckDeps, namespace: string, name: string): Promise<string | undefined> {
  const lease = await api.get(leases, { namespace, name }).catch(ignoreNotFound);
  if (lease === undefined) return 'the object does not exist';
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 0 } = lease.spec ?? {};
  if (holderIdentity === '') return 'nothing holds it';
  const ageMs = nowMs() - Date.parse(renewTime);
  return ageMs <= leaseDurationSeconds * 1000 + clockDifferenceMs
    ? undefined
    : `${holderIdentity} has not renewed it since ${renewTime}`;
}

async function metrics({ get }: CheckDeps, url: string): Promise<string | undefined> {
  const { status, text } = await get(url);
  if (status !== 200) return `the answer is ${status}`;
  return /^# TYPE /m.test(text) ? undefined : 'the answer has no metrics';
}

async function volume({ writeAndRead }: CheckDeps, folder: string): Promise<string | undefined> {
  return (await writeAndRead(folder)) ? undefined : 'what was written is not what is read';
}
