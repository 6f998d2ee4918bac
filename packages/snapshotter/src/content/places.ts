// SPDX-License-Identifier: Apache-2.0
/**
 * Alpha, the gate VolumeSnapshotTopology: where a snapshot has to be usable (`allowedTopologies` of its class) and where it can be used
 * (`spec.nodeAffinity` of its content). The page docs/behaviour/csi-1.13.md has the rules.
 */
import type { RequestOf } from '@csi-sidecars/csi';
import {
  namesTerms,
  ok,
  readPlaces,
  refuse,
  type Result,
  toSelectorTerms,
  toTopologies,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import type { ContentPlaces, FlowContext, PlacesAnswer } from '../content-types.ts';
import * as shared from '../messages.ts';
import { isMember, type SnapshotTypes, statusHandleOf, type TakenSnapshot } from './content.ts';
import { messages } from './messages.ts';

const capability = 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS';

function isOn({ settings, driver }: FlowContext): boolean {
  return settings.snapshotTopology && driver.pluginCapabilities.has(capability);
}

type Requirement = NonNullable<RequestOf<SnapshotTypes['create']>['accessibility_requirements']>;

/** `unhonoured`: the class asks for topologies, which the driver must not be sent. */
export type WantedPlaces =
  | { readonly kind: 'unrestricted' | 'unhonoured' }
  | { readonly kind: 'places'; readonly requirement: Requirement };

/** What the class restricts. Terms that are preferred only would be a wish, so all of them are requisite too. */
export function wantedPlaces(
  { metadata, allowedTopologies }: VolumeSnapshotClass,
  context: FlowContext,
): Result<WantedPlaces> {
  if (!context.settings.snapshotTopology) return ok({ kind: 'unrestricted' });
  const places = readPlaces(allowedTopologies);
  if (places.kind === 'error') return refuse(messages.unreadableTopologies(metadata?.name ?? '', places.message));
  if (places.value === undefined) return ok({ kind: 'unrestricted' });
  if (!isOn(context)) return ok({ kind: 'unhonoured' });
  const topologies = toTopologies(places.value);
  return ok({ kind: 'places', requirement: { requisite: topologies, preferred: topologies } });
}

/** A content is kept in the cache of every program that watches it. */
const mostCharacters = 65_536;

/** The administrator names the places of a snapshot that was there before its content. */
function areRecorded({ spec }: VolumeSnapshotContent, context: FlowContext): boolean {
  return isOn(context) && spec?.source?.snapshotHandle === undefined;
}

function answerOf(content: VolumeSnapshotContent, { topologies }: TakenSnapshot, context: FlowContext): PlacesAnswer {
  if (!areRecorded(content, context)) return { kind: 'nothing' };
  const terms = toSelectorTerms(topologies);
  if (terms === undefined || namesTerms(content.spec?.nodeAffinity, terms)) return { kind: 'nothing' };
  if (JSON.stringify(terms).length > mostCharacters) return refusedAnswer('it is too large');
  const places = readPlaces(terms);
  return places.kind === 'error' ? refusedAnswer(places.message) : { kind: 'write', terms };
}

function refusedAnswer(why: string): PlacesAnswer {
  return { kind: 'refused', message: shared.placesUnusable(why) };
}

function areThere({ spec }: VolumeSnapshotContent): boolean {
  return spec?.nodeAffinity !== undefined;
}

/** A snapshot of a group is ready when its content is made, and no answer about it came before. */
function areMissing(content: VolumeSnapshotContent, context: FlowContext): boolean {
  if (!areRecorded(content, context) || !context.driver.controllerCapabilities.has('LIST_SNAPSHOTS')) return false;
  return isMember(content) && statusHandleOf(content) !== undefined && !areThere(content);
}

export const snapshotPlaces: ContentPlaces<SnapshotTypes> = {
  row: 'C27',
  askedRow: 'C28',
  areMissing,
  answerOf,
  areThere,
  notSaved: messages.placesNotSaved,
};
