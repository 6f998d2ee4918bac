// SPDX-License-Identifier: Apache-2.0
export { aClient, type Answer, type TestClient } from './client.ts';
export { type SnapshotMetadataService, snapshotMetadataServices } from '../src/request/reviews.ts';
