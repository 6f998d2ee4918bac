// SPDX-License-Identifier: Apache-2.0
export { aClient, type Answer, type TestClient } from './client.ts';
