// SPDX-License-Identifier: Apache-2.0
/** `--via-pod`: the pod that leads a program, and the port at which it serves HTTP by its arguments. */
import { type Pod, pods } from '@csi-sidecars/runtime';
import {
  endpointFlags,
  type EndpointValues,
  type ProgramFlags,
  readAssumedCommandLine,
  stringFlag,
} from '@csi-sidecars/sidecar';
import { type Leader, leaderOf, type Question } from '../actors/leader.ts';
import { argumentsOf, containerOf, namesDriver } from '../actors/programs.ts';
import { type Reader, valueOf } from '../cluster/reader.ts';
import { nameOf } from '../facts/objects.ts';
import type { AskPod } from '../port-forward/pod-port.ts';
import type { PodPort } from '../port-forward/websocket.ts';
import type { Program } from '../verdict.ts';
import type { Endpoint } from './endpoint.ts';

export type FoundPort =
  | { readonly kind: 'found'; readonly target: PodPort; readonly metricsPath: string }
  | { readonly kind: 'none'; readonly because: string };

/** Reads the Lease and the pod, unless the reader has read them before. */
export async function leaderPortOf(reader: Reader, question: Question): Promise<FoundPort> {
  const { program } = question;
  const leader = await leaderOf(reader, question);
  const pod = podOf(leader) ?? (await onlyPodOf(reader, question, leader));
  if (pod === undefined) return { kind: 'none', because: whyNoPod(leader, program) };
  const { port, metricsPath } = servingOf(pod, program);
  const name = nameOf(pod);
  if (port === undefined)
    return {
      kind: 'none',
      because: `${program} of pod ${name} has no --http-endpoint or --metrics-address with a port`,
    };
  return { kind: 'found', target: { namespace: pod.metadata?.namespace ?? '', pod: name, port }, metricsPath };
}

/** A port-forward is opened for each question, and ends with it. */
export function podEndpoint(
  askPod: AskPod,
  { target, metricsPath }: Extract<FoundPort, { readonly kind: 'found' }>,
): Endpoint {
  const { namespace, pod, port } = target;
  const name = `--via-pod: ${namespace}/${pod}:${port}`;
  return { name, get: (path, asking) => askPod(target, path, asking), metricsPath };
}

function podOf(leader: Leader): Pod | undefined {
  return leader.kind === 'lives' || leader.kind === 'restarting' ? leader.pod : undefined;
}

/**
 * The pod of a holder that is not named as its pod, as on the network of a host, or of a program without a Lease. Whether it leads it says itself.
 * Undefined: there is none, or there are several.
 */
async function onlyPodOf(
  reader: Reader,
  { program, driver, namespace: given }: Question,
  leader: Leader,
): Promise<Pod | undefined> {
  const { namespace, holder } = leader.kind === 'lives' ? leader : { namespace: given, holder: '' };
  if (namespace === '' || (leader.kind !== 'lives' && leader.kind !== 'unknown')) return undefined;
  const keep = (pod: Pod): Pod | undefined =>
    pod.status?.phase === 'Running' && containerOf(pod, program) !== undefined ? pod : undefined;
  let found = valueOf(await reader.list(pods, { namespace, keep }, `the pod of ${program}`)) ?? [];
  for (const isLikely of [(pod: Pod) => pod.spec?.nodeName === holder, (pod: Pod) => namesDriver(pod.spec, driver)]) {
    if (found.length < 2) break;
    const likely = found.filter(isLikely);
    if (likely.length > 0) found = likely;
  }
  return found.length === 1 ? found[0] : undefined;
}

function whyNoPod(leader: Leader, program: Program): string {
  switch (leader.kind) {
    case 'lives':
      return `the pod of ${leader.holder}, which leads ${program}, is not known`;
    case 'dead':
      return `nobody leads ${program}`;
    case 'unknown':
      return `which pod leads ${program} is not known: ${leader.because}`;
    case 'restarting':
    case 'none':
      return `no ${program} was found`;
  }
}

/** Where a sidecar serves HTTP. */
const serving: ProgramFlags<EndpointValues & { readonly 'metrics-address': string; readonly 'feature-gates'?: never }> =
  {
    name: 'sidecar',
    syntax: 'go',
    gates: {},
    flags: { ...endpointFlags, 'metrics-address': stringFlag('', 'The older name of --http-endpoint.') },
  };

interface Serving {
  /** The port of the first of the two flags that has an address. Undefined: none is given, or its port is a name. */
  readonly port: number | undefined;
  readonly metricsPath: string;
}

function servingOf(pod: Pod, program: Program): Serving {
  const container = containerOf(pod, program);
  const { values } = readAssumedCommandLine(serving, container && argumentsOf(container));
  const address = values['http-endpoint'] || values['metrics-address'];
  const port = Number(/:(\d{1,5})$/.exec(address)?.[1]);
  const path = values['metrics-path'];
  return {
    port: port > 0 && port < 65_536 ? port : undefined,
    // Another text of the cluster could be that of another host.
    metricsPath: /^\/[\w.-][\w./-]*$/.test(path) ? path : '/metrics',
  };
}
