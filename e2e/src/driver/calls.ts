// SPDX-License-Identifier: Apache-2.0
/** Queries on recorded calls, for scenarios. */
import type { CreateVolumeRequest, DecodedRequestOf, Method } from '@csi-sidecars/csi';
import type { DriverControl, RecordedCall } from '@csi-sidecars/test-driver';

export interface CallOf<Request> extends RecordedCall {
  readonly request: Request & object;
}
export type PublishCall = CallOf<DecodedRequestOf<'/csi.v1.Controller/ControllerPublishVolume'>>;
export type UnpublishCall = CallOf<DecodedRequestOf<'/csi.v1.Controller/ControllerUnpublishVolume'>>;

/** A driver that records its calls. */
export interface Recording {
  readonly control: Pick<DriverControl, 'calls'>;
}

/** Oldest first, those that still run included. */
export async function callsOf<M extends Method>(
  { control }: Recording,
  method: M,
): Promise<readonly CallOf<DecodedRequestOf<M>>[]> {
  const calls = (await control.calls()).filter((call) => call.method === method);
  return calls as readonly CallOf<DecodedRequestOf<M>>[];
}

export async function createCalls(driver: Recording): Promise<readonly CallOf<CreateVolumeRequest>[]> {
  return await callsOf(driver, '/csi.v1.Controller/CreateVolume');
}

export async function publishCalls(driver: Recording): Promise<readonly PublishCall[]> {
  return await callsOf(driver, '/csi.v1.Controller/ControllerPublishVolume');
}

export async function unpublishCalls(driver: Recording): Promise<readonly UnpublishCall[]> {
  return await callsOf(driver, '/csi.v1.Controller/ControllerUnpublishVolume');
}

export async function deletedIds(driver: Recording): Promise<readonly string[]> {
  const calls = await callsOf(driver, '/csi.v1.Controller/DeleteVolume');
  return calls.map(({ request }) => request.volume_id);
}

export function namesOf(calls: readonly CallOf<CreateVolumeRequest>[]): readonly string[] {
  return [...new Set(calls.map(({ request }) => request.name))];
}
