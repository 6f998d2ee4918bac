// SPDX-License-Identifier: Apache-2.0
/** Leaders in one pod, each with a port of its own: what they answer with `--via-pod`. */
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import type { HttpAnswer } from '../src/leader-answer/http.ts';
import type { AskPod } from '../src/port-forward/pod-port.ts';
import { add, driver, pod } from './cluster.ts';
import { controller, driverContainer, programs, sidecar } from './workloads.ts';
import { installation } from './installation.ts';
import { anAnswer } from './leader-answer.ts';

/** The capabilities of a driver that can do everything. */
export const allCapabilities: readonly string[] = [
  'CONTROLLER_SERVICE',
  'VOLUME_ACCESSIBILITY_CONSTRAINTS',
  'CREATE_DELETE_VOLUME',
  'PUBLISH_UNPUBLISH_VOLUME',
  'CREATE_DELETE_SNAPSHOT',
  'EXPAND_VOLUME',
  'MODIFY_VOLUME',
  'GET_CAPACITY',
];

/** Its pod serves HTTP at a port of each program; `args`: of all of them. */
export function served(args: readonly string[] = []): FakeHost {
  const host = installation();
  const containers = programs.map((program, index) => sidecar(program, [`--http-endpoint=:${8_080 + index}`, ...args]));
  add(
    host,
    controller({ containers: [driverContainer, ...containers] }),
    pod('controller-7d9-x', {
      metadata: { namespace: 'storage', creationTimestamp: '2024-01-01T00:00:00Z' },
      spec: { containers },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    }),
  );
  return host;
}

export interface Says {
  readonly capabilities?: readonly string[];
  readonly of?: string;
  readonly queues?: readonly object[];
  /** What csi-resizer answers; the others measure no requests. */
  readonly metrics?: Partial<HttpAnswer>;
  readonly metricsPath?: string;
}

const text = { status: 200, contentType: 'text/plain; version=0.0.4', body: '# TYPE go_goroutines gauge\n' };

export function leaders({
  capabilities = allCapabilities,
  of = driver,
  queues = [],
  metrics = {},
  metricsPath = '/metrics',
}: Says = {}): AskPod {
  return async ({ port }, path) => {
    const program = programs[port - 8_080];
    if (path === metricsPath) return program === 'csi-resizer' ? { ...text, ...metrics } : text;
    const known = { name: of, connected: true, capabilities };
    const answer = anAnswer([], { program, driver: known, queues });
    return { status: 200, contentType: 'application/json', body: JSON.stringify(answer) };
  };
}
