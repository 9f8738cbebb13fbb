/** Validators that sign one message. */
export const DOCS_ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#16213e"/><g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"><path d="M7 11l4 11 5-11 5 11 4-11"/></g><circle cx="16" cy="11" r="2.6" fill="#e84142"/></svg>`;

/** What the page of the plugin lacks: room on a phone, and less that catches the eye. */
export const DOCS_STYLE = `
.swagger-ui .topbar .download-url-wrapper .select-label { width: auto; flex: 0 1 24em; margin-left: auto; }
.swagger-ui .topbar .download-url-wrapper .select-label > span { font-size: 0; flex: 0 0 auto; padding: 0 10px; }
.swagger-ui .topbar .download-url-wrapper .select-label > span::before { content: 'Read'; font-size: 16px; }
.swagger-ui .info .title > span, .swagger-ui .info a.link[href*='/guides/'] { display: none; }
.swagger-ui .info .title { overflow-wrap: anywhere; }
.swagger-ui .renderedMarkdown { overflow-wrap: break-word; }
.swagger-ui .renderedMarkdown table { display: block; overflow-x: auto; }
.swagger-ui .renderedMarkdown pre { overflow-x: auto; }
.swagger-ui .renderedMarkdown code { color: inherit; }
.swagger-ui table.responses-table > * > tr > .response-col_links { display: none; }
.swagger-ui .opblock-summary-path { overflow-wrap: anywhere; }
/* Of a guide, which has no operations. */
.swagger-ui .wrapper > section > h3, .swagger-ui .block > div > h3 { display: none; }
@media (max-width: 640px) {
  .swagger-ui .topbar .wrapper, .swagger-ui .wrapper { padding: 0 12px; }
  .swagger-ui .topbar .topbar-wrapper { flex-flow: row nowrap; }
  .swagger-ui .info { margin: 20px 0; }
  .swagger-ui .info .title { font-size: 24px; }
  .swagger-ui .opblock-tag { flex-wrap: wrap; font-size: 19px; padding: 8px 4px; }
  .swagger-ui .opblock-tag small { flex: 0 0 100%; order: 1; padding: 0; }
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-summary-method { min-width: 58px; padding: 4px 0; font-size: 12px; }
  .swagger-ui .opblock .opblock-summary-path { max-width: none; flex: 1 1 0; font-size: 13px; }
  .swagger-ui .opblock .opblock-summary-description { font-size: 12px; }
  .swagger-ui .opblock .opblock-section-header { flex-wrap: wrap; padding: 8px 12px; }
  .swagger-ui .opblock-description-wrapper, .swagger-ui .responses-inner, .swagger-ui .table-container { padding: 12px; }
  .swagger-ui .table-container, .swagger-ui .execute-wrapper { padding: 8px 12px; }
  .swagger-ui table.parameters, .swagger-ui table.responses-table,
  .swagger-ui table.parameters > tbody, .swagger-ui table.responses-table > tbody,
  .swagger-ui table.parameters > tbody > tr, .swagger-ui table.responses-table > tbody > tr,
  .swagger-ui table.parameters > tbody > tr > td,
  .swagger-ui table.responses-table > tbody > tr > td:not(.response-col_links) {
    display: block; width: auto; max-width: 100%; box-sizing: border-box; padding-left: 0;
  }
  .swagger-ui table.parameters > thead, .swagger-ui table.responses-table > thead { display: none; }
  .swagger-ui .parameters-col_description input, .swagger-ui .parameters-col_description select,
  .swagger-ui .body-param textarea, .swagger-ui select { max-width: 100%; min-width: 0; }
  .swagger-ui .model-example, .swagger-ui .headers-wrapper, .swagger-ui .highlight-code { max-width: 100%; overflow-x: auto; }
  .swagger-ui .response-col_description .renderedMarkdown code { overflow-wrap: anywhere; }
}
`;
