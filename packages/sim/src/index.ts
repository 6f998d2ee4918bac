// SPDX-License-Identifier: Apache-2.0
export { serveOverHttp } from './serve/serve-over-http.ts';
export type { HttpEndpoint, ServeOptions } from './serve/serve-over-http.ts';
