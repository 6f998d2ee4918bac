// SPDX-License-Identifier: Apache-2.0
/** Events of failures of volumes. Of each no more is kept than what a check looks for. */
import { type Event, events } from '@csi-sidecars/runtime';
import { codeIn, lastMs, textOf } from '../../facts/events.ts';
import { isRead, listed, type Source, together, value } from './source.ts';
import type { EventFacts } from './facts.ts';

/** Of some reasons only what this finds in the text. */
const reasons: Readonly<Record<string, RegExp>> = {
  ProvisioningFailed: /^/,
  FailedAttachVolume: /^/,
  FailedMount: /volume mode "Ephemeral" not supported by driver/,
};
const longest = 300;

/** Of each reason the server selects its own, so that other events are not read. */
export const eventSource: Source<readonly EventFacts[]> = {
  rights: ['list events'],
  read: async (gathering) => {
    const reads = Object.entries(reasons).map(async ([reason, wanted]) => {
      const found: EventFacts[] = [];
      const keep = (event: Event): undefined => {
        if (wanted.test(textOf(event))) found.push(factsOf(event));
      };
      const query = { fieldSelector: `reason=${reason}`, keep, most: 20, notKnown: 'why volumes fail' };
      const read = await listed(gathering, events, query);
      return isRead(read) ? value(found, read.cut) : read;
    });
    const all = together(await Promise.all(reads));
    return isRead(all) ? value(all.value.flat(), all.cut) : all;
  },
};

function factsOf(event: Event): EventFacts {
  const { kind = '', namespace, name = '' } = event.involvedObject;
  const text = textOf(event);
  return {
    object: { kind, namespace, name },
    reason: event.reason ?? '',
    component: event.source?.component ?? event.reportingComponent ?? '',
    text: text.slice(0, longest),
    code: codeIn(text),
    count: event.series?.count ?? event.count ?? 1,
    lastMs: lastMs(event),
  };
}
