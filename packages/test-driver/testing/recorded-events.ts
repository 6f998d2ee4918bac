// SPDX-License-Identifier: Apache-2.0
/** A recorder that keeps events as lines: `Warning ProvisioningFailed team/data: text`. */
import type { EventRecorder } from '@csi-sidecars/runtime';

export interface RecordedEvents {
  readonly lines: readonly string[];
  readonly recorder: EventRecorder;
}

/** Nothing is recorded after the death of the process. */
export function recordedEvents(death: AbortSignal): RecordedEvents {
  const lines: string[] = [];
  return {
    lines,
    recorder: {
      record: ({ metadata = {} }, { type, reason, message }) => {
        const { namespace, name } = metadata;
        const about = namespace === undefined ? name : `${namespace}/${name}`;
        if (!death.aborted) lines.push(`${type} ${reason} ${about}: ${message}`);
      },
      flush: () => Promise.resolve(),
    },
  };
}
