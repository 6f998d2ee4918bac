// SPDX-License-Identifier: Apache-2.0
/** From a content and its class to the requests of the driver, without secrets. */
import type { RequestOf } from '@csi-sidecars/csi';
import {
  ok,
  refuse,
  type Result,
  snapshotSecrets,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import { parametersOf, querySecretOf } from '../class-requests.ts';
import { contentNameOf } from '../content-object.ts';
import type { FlowContext, Planned, PlannedQuery } from '../content-types.ts';
import * as shared from '../messages.ts';
import { metadataKeys, snapshotNameOf } from '../names.ts';
import { annotatedSecretOf } from '../secrets.ts';
import { readListed } from './answer.ts';
import { annotations, isGrouped, type SnapshotTypes, sourceHandleOf, statusHandleOf, volumeOf } from './content.ts';
import { messages } from './messages.ts';
import { wantedPlaces } from './places.ts';

export function planCreation(
  content: VolumeSnapshotContent,
  found: VolumeSnapshotClass | undefined,
  context: FlowContext,
): Result<Planned<RequestOf<SnapshotTypes['create']>>> {
  const { settings, driver } = context;
  const name = contentNameOf(content);
  const { volumeSnapshotClassName: className, volumeSnapshotRef: snapshot = {} } = content.spec ?? {};
  const volume = volumeOf(content);
  if (found === undefined) {
    const cause = className === undefined ? messages.noClass(name) : messages.classMissing(className);
    return refuse(messages.noInput(name, cause));
  }
  const secret = annotatedSecretOf(content, annotations, messages.subject);
  if (secret.kind === 'error') return refuse(messages.noInput(name, secret.message));
  const metadata = {
    [metadataKeys.snapshotName]: snapshot.name ?? '',
    [metadataKeys.snapshotNamespace]: snapshot.namespace ?? '',
    [metadataKeys.contentName]: name,
  };
  const parameters = parametersOf(found, settings.extraCreateMetadata ? metadata : {});
  if (parameters.kind === 'error') return parameters;
  const places = wantedPlaces(found, context);
  if (places.kind === 'error') return refuse(messages.noInput(name, places.message));
  const uid = snapshot.uid ?? '';
  if (uid === '') return refuse(messages.notTaken(volume, messages.notBound(name)));
  if (volume === '') return refuse(messages.notTaken(volume, messages.noVolume(name)));
  return ok({
    reference: secret.value,
    // Once: the status has no handle before the first answer.
    ...(places.value.kind === 'unhonoured' && statusHandleOf(content) === undefined
      ? { unhonoured: shared.unhonouredTopologies(className ?? '', driver.name) }
      : {}),
    request: {
      name: snapshotNameOf(settings.snapshotNames, uid),
      source_volume_id: volume,
      parameters: parameters.value,
      ...(places.value.kind === 'places' ? { accessibility_requirements: places.value.requirement } : {}),
    },
  });
}

/** A driver that cannot list snapshots is believed: the snapshot is there and ready. */
export function planQuery(
  content: VolumeSnapshotContent,
  found: VolumeSnapshotClass | undefined,
  { driver }: FlowContext,
): Result<PlannedQuery<SnapshotTypes>> {
  const name = contentNameOf(content);
  const given = sourceHandleOf(content);
  const asked = statusHandleOf(content) ?? given;
  // An empty filter lists all snapshots of the driver.
  if (asked === undefined) return refuse(messages.notQueried(name, 'can not find snapshot for snapshotID '));
  const secret = isGrouped(content)
    ? annotatedSecretOf(content, annotations, messages.subject)
    : querySecretOf(content, {
        className: content.spec?.volumeSnapshotClassName,
        class: found,
        keys: snapshotSecrets.list,
        token: 'volumesnapshotcontent.name',
        texts: messages,
      });
  if (secret.kind === 'error') {
    return isGrouped(content) ? refuse(messages.noMemberSecret(name, secret.message)) : secret;
  }
  const handle = given ?? asked;
  const assumed = {
    handle,
    isReady: true,
    createdAt: undefined,
    size: undefined,
    groupHandle: '',
    topologies: [],
  };
  return ok({
    reference: secret.value,
    noSecret: (cause) =>
      isGrouped(content)
        ? messages.noMemberSecret(name, shared.annotatedSecretUnreadable(messages.subject, name))
        : messages.noQuerySecret(name, cause),
    request: { snapshot_id: asked },
    assumed: driver.controllerCapabilities.has('LIST_SNAPSHOTS') ? undefined : assumed,
    readAnswer: (response) => readListed(response, { asked, handle }),
  });
}
