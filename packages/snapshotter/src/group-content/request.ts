// SPDX-License-Identifier: Apache-2.0
/** From a group and its class to the requests of the driver, without secrets. */
import type { RequestOf } from '@csi-sidecars/csi';
import {
  ok,
  refuse,
  type Result,
  snapshotSecrets,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
} from '@csi-sidecars/volume';
import { parametersOf, querySecretOf } from '../class-requests.ts';
import { contentNameOf } from '../content-object.ts';
import type { FlowContext, Planned, PlannedQuery } from '../content-types.ts';
import { metadataKeys, snapshotNameOf } from '../names.ts';
import { annotatedSecretOf } from '../secrets.ts';
import { readGot } from './answer.ts';
import {
  annotations,
  type GroupSnapshotTypes,
  membersOf,
  sourceHandleOf,
  sourceMembersOf,
  statusHandleOf,
  volumesOf,
} from './group-content.ts';
import { messages, noMembersToDelete, noMembersToQuery } from './messages.ts';

/** As Go prints a list. */
export function volumeNamesOf(content: VolumeGroupSnapshotContent): string {
  return `[${volumesOf(content).join(' ')}]`;
}

export function planCreation(
  content: VolumeGroupSnapshotContent,
  found: VolumeGroupSnapshotClass | undefined,
  { settings }: FlowContext,
): Result<Planned<RequestOf<GroupSnapshotTypes['create']>>> {
  const name = contentNameOf(content);
  const { volumeGroupSnapshotClassName: className, volumeGroupSnapshotRef: snapshot = {} } = content.spec ?? {};
  if (found === undefined) {
    const cause = className === undefined ? messages.noClass(name) : messages.classMissing(className);
    return refuse(messages.noInput(name, cause));
  }
  const secret = annotatedSecretOf(content, annotations, messages.subject);
  if (secret.kind === 'error') return refuse(messages.noInput(name, secret.message));
  const metadata = {
    [metadataKeys.groupSnapshotName]: snapshot.name ?? '',
    [metadataKeys.groupSnapshotNamespace]: snapshot.namespace ?? '',
    [metadataKeys.groupContentName]: name,
  };
  const parameters = parametersOf(found, settings.extraCreateMetadata ? metadata : {});
  if (parameters.kind === 'error') return parameters;
  const uid = snapshot.uid ?? '';
  const volumes = volumesOf(content);
  if (uid === '') return refuse(messages.notTaken(volumeNamesOf(content), messages.notBound(name)));
  if (volumes.length === 0) return refuse(messages.notTaken(volumeNamesOf(content), messages.noVolume(name)));
  return ok({
    reference: secret.value,
    request: {
      name: snapshotNameOf(settings.groupSnapshotNames, uid),
      source_volume_ids: volumes,
      parameters: parameters.value,
    },
  });
}

export function planQuery(
  content: VolumeGroupSnapshotContent,
  found: VolumeGroupSnapshotClass | undefined,
): Result<PlannedQuery<GroupSnapshotTypes>> {
  const name = contentNameOf(content);
  const secret = querySecretOf(content, {
    className: content.spec?.volumeGroupSnapshotClassName,
    class: found,
    keys: snapshotSecrets.groupGet,
    token: 'volumegroupsnapshotcontent.name',
    texts: messages,
  });
  if (secret.kind === 'error') return secret;
  const members = sourceMembersOf(content);
  if (members.length === 0) return refuse(noMembersToQuery(name));
  const given = sourceHandleOf(content);
  const asked = statusHandleOf(content) ?? given;
  if (asked === undefined) return refuse(messages.notQueried(name, 'the group snapshot content has an empty handle'));
  return ok({
    reference: secret.value,
    noSecret: (cause) => messages.noQuerySecret(name, cause),
    request: { group_snapshot_id: asked, snapshot_ids: members },
    readAnswer: (response) => readGot(response, given ?? asked),
  });
}

/** The protocol requires the members. */
export function planDeletion(content: VolumeGroupSnapshotContent): Result<RequestOf<GroupSnapshotTypes['delete']>> {
  const members = membersOf(content);
  if (members.length === 0) return refuse(noMembersToDelete(contentNameOf(content)));
  return ok({ group_snapshot_id: statusHandleOf(content) ?? '', snapshot_ids: members });
}
