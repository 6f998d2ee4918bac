// SPDX-License-Identifier: Apache-2.0
/** What `/debug/explain` of a leader answers. */

export const aLoop: Readonly<Record<string, unknown>> & { readonly queue: object } = {
  known: true,
  uid: null,
  queue: { name: 'q', lane: null, depth: 0, place: null, waitingSince: null, workers: 1, busy: 0 },
  run: null,
  last: null,
  backoff: null,
  memory: [],
};

export function anAnswer(loops: readonly object[], controller: object = {}): object {
  return {
    apiVersion: 'csi-sidecars/v1',
    kind: 'DebugExplanation',
    version: 'v1.2.3',
    pod: 'pod-1',
    now: '2026-01-01T00:00:00Z',
    known: true,
    controllers: [
      {
        program: 'csi-attacher',
        leading: true,
        leadingSince: '2026-01-01T00:00:00Z',
        holder: 'pod-1_x',
        caches: [],
        queues: [],
        loops,
        ...controller,
      },
    ],
  };
}
