/** The console's icon. */
export const DOCS_ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0b7a5c"/><path d="M6 11h20M6 21h13" stroke="#fff" stroke-width="4" stroke-linecap="round" opacity=".45"/><path d="M6 11h12M6 21h13" stroke="#fff" stroke-width="4" stroke-linecap="round"/><path d="M23 7v18" stroke="#ffd166" stroke-width="2.6" stroke-linecap="round"/></svg>`;

/** The console's colours and font, and what keeps a narrow window from scrolling sideways. */
export const DOCS_STYLE = `
html {
  --bg: #f4f6f8; --surface: #ffffff; --text: #131a21; --muted: #55616e; --line: #dde3e8;
  --accent: #0b7a5c; --on-accent: #ffffff; --info: #1d4ed8; --on-info: #ffffff;
}
html.dark-mode {
  --bg: #0b0f13; --surface: #131920; --text: #e7edf3; --muted: #9aa8b6; --line: #26303b;
  --accent: #3ecf9f; --on-accent: #04241a; --info: #93b4ff; --on-info: #0b0f13;
}
html:root, html:root body, #swagger-ui .swagger-ui, #swagger-ui .scheme-container { background: var(--bg); box-shadow: none; }
#swagger-ui :is(.info, .opblock-tag, .opblock, .renderedMarkdown, .responses-inner, .parameters, .btn, select, label) {
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
#swagger-ui :is(.title, .opblock-tag small, .opblock-summary-path, .opblock-summary-description, p, li, td, th, h1, h2, h3, h4) { color: var(--text); }
#swagger-ui .topbar { background: var(--surface); border-bottom: 1px solid var(--line); padding: 8px 0; }
#swagger-ui .topbar .topbar-wrapper { flex-wrap: nowrap; }
#swagger-ui .topbar .select-label { flex: 0 1 24em; margin-left: auto; color: var(--muted); }
#swagger-ui .topbar .select-label > span { font-size: 0; flex: 0 0 auto; padding: 0 10px; }
#swagger-ui .topbar .select-label > span::before { content: 'Page'; font-size: 14px; }
#swagger-ui .topbar select { border: 1px solid var(--line); }
#swagger-ui a, #swagger-ui .opblock-tag a { color: var(--accent); }
#swagger-ui .btn.authorize { border-color: var(--accent); color: var(--accent); }
#swagger-ui .btn.authorize svg { fill: var(--accent); }
#swagger-ui .btn.execute { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
#swagger-ui :is(.opblock, .opblock .opblock-summary, .opblock .opblock-section-header) {
  background: var(--surface); border-color: var(--line); box-shadow: none;
}
#swagger-ui .opblock-get .opblock-summary-method { background: var(--info); color: var(--on-info); }
#swagger-ui .opblock-post .opblock-summary-method { background: var(--accent); color: var(--on-accent); }
#swagger-ui .tab-header .tab-item.active h4 span::after { background: var(--accent); }
/* A guide has no operations, and its version and address say nothing. */
#swagger-ui .info .title > span, #swagger-ui .info a.link, #swagger-ui .wrapper > section > h3, #swagger-ui .block > div > h3 { display: none; }
#swagger-ui .renderedMarkdown { overflow-wrap: anywhere; }
#swagger-ui .renderedMarkdown :is(table, pre) { display: block; overflow-x: auto; }
#swagger-ui .renderedMarkdown td { overflow-wrap: normal; }
#swagger-ui .renderedMarkdown code { color: inherit; background: var(--line); }
@media (max-width: 640px) {
  #swagger-ui :is(.opblock-summary, .opblock-tag, .opblock-section-header) { flex-wrap: wrap; }
  #swagger-ui .opblock-tag small { flex: 0 0 100%; order: 1; padding: 0; }
  #swagger-ui .opblock .opblock-summary-path { max-width: none; flex: 1 1 0; overflow-wrap: anywhere; }
  #swagger-ui :is(.parameters, .responses-table), #swagger-ui :is(.parameters, .responses-table) > tbody,
  #swagger-ui :is(.parameters, .responses-table) > tbody > tr, #swagger-ui :is(.parameters, .responses-table) > tbody > tr > td:not(.response-col_links) { display: block; max-width: 100%; box-sizing: border-box; }
  #swagger-ui :is(.parameters, .responses-table) > thead, #swagger-ui .response-col_links { display: none; }
  #swagger-ui :is(input, select, textarea) { max-width: 100%; min-width: 0; }
  #swagger-ui :is(.model-example, .headers-wrapper, .highlight-code) { max-width: 100%; overflow-x: auto; }
}
`;
