// SPDX-License-Identifier: Apache-2.0
/** A summary for a failed scenario with real pods: pods, events, and the last lines of containers and of kubelet. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { events, pods, type Event, type Pod } from '@csi-sidecars/runtime';
import type { RealNode } from '../control-planes/control-plane.ts';
import type { ScenarioContext } from '../scenarios/context.ts';
import { outputOf, writersIn } from './pod-output.ts';

const lastEvents = 15;
const lastWords = 6;

export async function nodeDigest({ api, namespace, testRun }: ScenarioContext, node: RealNode): Promise<string> {
  const { items: found } = await api.list(pods, { namespace });
  const { items: recorded } = await api.list(events, { namespace });
  const outputs = writersIn(node, namespace).map(({ pod, container }) => ({
    what: `${pod.slice(namespace.length + 1)}/${container}`,
    lines: tail(outputOf(node, pod, container), lastWords),
  }));
  const kubeletLog = testRun.controlPlane.logFiles.find((path) => path.endsWith('kubelet.log'));
  return [
    'pods:',
    ...found.flatMap(podLines),
    'events:',
    ...recorded.toSorted(byTime).slice(-lastEvents).map(eventLine),
    ...outputs.flatMap(({ what, lines }) => [`${what} said last:`, ...lines.map((line) => `  ${line}`)]),
    'kubelet about this namespace:',
    ...(kubeletLog === undefined ? [] : kubeletLines(kubeletLog, namespace)),
  ].join('\n');
}

/** The whole output of every container, a file each. */
export function saveOutputs({ namespace, folder }: ScenarioContext, node: RealNode): void {
  for (const { pod, container } of writersIn(node, namespace)) {
    const name = `${pod.slice(namespace.length + 1)}-${container}.log`;
    writeFileSync(join(folder, name), outputOf(node, pod, container));
  }
}

function podLines({ metadata, status }: Pod): readonly string[] {
  const containers = (status?.containerStatuses ?? []).map(({ name, restartCount, state }) => {
    const { waiting, terminated } = state ?? {};
    const how =
      terminated !== undefined
        ? `ended with ${terminated.exitCode} (${terminated.reason})`
        : (waiting?.reason ?? 'running');
    return `    ${name}: ${how}, ${restartCount} restarts ${waiting?.message ?? ''}`;
  });
  return [`  ${metadata?.name}: ${status?.phase} ${status?.message ?? ''}`, ...containers];
}

function eventLine({ involvedObject, reason, message }: Event): string {
  return `  ${involvedObject.kind} ${involvedObject.name}: ${reason} ${message?.replaceAll('\n', ' ')}`;
}

function byTime(a: Event, b: Event): number {
  return timeOf(a) < timeOf(b) ? -1 : 1;
}

function timeOf({ lastTimestamp, eventTime }: Event): string {
  return lastTimestamp ?? eventTime ?? '';
}

/** Errors and warnings that name it. */
function kubeletLines(path: string, namespace: string): readonly string[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  const relevant = lines.filter((line) => /^[EW]\d{4} /.test(line) && line.includes(namespace));
  return relevant.slice(-10).map((line) => `  ${line.slice(0, 400)}`);
}

function tail(text: string, count: number): readonly string[] {
  return text.trimEnd().split('\n').slice(-count);
}
